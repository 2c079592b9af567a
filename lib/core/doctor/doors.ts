import { parseEndpoint } from '../../config/endpoint.ts'
import type { Config } from '../../config/load.ts'
import { findHostAddresses } from '../../courier/host-address.ts'
import { mxAddresses } from '../../courier/mx.ts'
import { canConnect, type Door, type Probed, probeDoor } from '../../courier/smtp/probe.ts'
import { type Finding, finding, notChecked } from '../../mail/domain/finding.ts'
import type { App } from '../app/app.ts'

/** Days before its end in which the doctor warns of a certificate. */
export const certificateSoonDays = 14
/** How long the doctor's connection to port 25 of another server may take. */
const port25Ms = 5_000

/** What the doors are looked at with: no rows. */
export type DoorParts = Pick<App, 'config' | 'clock' | 'dns'>

/** A mail server that has answered everybody for decades. */
export const someMailServer = 'gmail-smtp-in.l.google.com'

/**
 * The doors as who comes by the wire finds them: whether port 25 of the server's name is open and ours, and what certificates it, the
 * doors of submission and the API show. Asked from this machine: whether a firewall before it lets others in is not seen.
 */
export async function checkDoors(app: DoorParts, isUp: boolean): Promise<Finding[]> {
  const { hostname, submission, base_url: baseUrl } = app.config
  const addresses = await findAddresses(app, hostname)
  if (addresses === undefined)
    return [notChecked(hostname, 'its doors were not tried: its addresses are not known')]
  const doors: Door[] = addresses.map(address => ({
    host: hostname,
    address,
    port: 25,
    kind: 'smtp' as const,
  }))
  const [first] = addresses
  if (first !== undefined) {
    const at = (endpoints: readonly string[], kind: Door['kind']) =>
      endpoints
        .slice(0, 1)
        .map(text => ({ host: hostname, address: first, port: parseEndpoint(text).port, kind }))
    doors.push(...at(submission.listen, 'smtp'), ...at(submission.listen_tls, 'tls'))
  }
  const found = await Promise.all(doors.map(door => checkDoor(app, door)))
  return [
    ...found.flat(),
    ...(baseUrl?.startsWith('https:') ? await checkApi(app, new URL(baseUrl), isUp) : []),
  ]
}

async function checkApi(app: DoorParts, { hostname, port }: URL, isUp: boolean): Promise<Finding[]> {
  const [address] = (await findAddresses(app, hostname)) ?? []
  if (address === undefined)
    return [notChecked(hostname, 'the API was not tried: base_url leads to no address')]
  const door = { host: hostname, address, port: port === '' ? 443 : Number(port), kind: 'tls' as const }
  const found = await checkDoor(app, door)
  const isClosed = found.some(({ code }) => code === 'door_closed')
  if (!isClosed || !isUp) return found
  return found.map(({ subject }) => withoutProxy(subject, hostname, app.config))
}

async function checkDoor(app: DoorParts, door: Door): Promise<Finding[]> {
  const { host, address, port, kind } = door
  const at = `${address.includes(':') ? `[${address}]` : address}:${port}`
  const probed = await probeDoor(door, app.config.hostname, port25Ms)
  const { fault, greeting, offersStartTls, certificate } = probed
  if (fault && greeting === undefined && certificate === undefined) return [unreached(at, host, fault)]
  const isOurs =
    kind === 'tls' || /^220[ -](\S+)/.exec(greeting ?? '')?.[1]?.toLowerCase() === host.toLowerCase()
  if (!isOurs) {
    const message = `another server answers there ("${greeting}"), and not ${host}: mail for you goes to it. Does ${host} lead to this machine, and has another program the port?`
    return [finding('error', 'other_server', at, message)]
  }
  if (kind === 'smtp' && offersStartTls === false) {
    const message = 'it offers no STARTTLS: others deliver in plaintext, and some not at all'
    return [finding('error', 'starttls_missing', at, message)]
  }
  if (!certificate) return [notChecked(at, `TLS with it failed: ${fault?.text ?? 'it ended'}`)]
  return judge(app, at, door, certificate)
}

function unreached(at: string, host: string, { code, text }: NonNullable<Probed['fault']>): Finding {
  if (code === 'ECONNREFUSED') {
    const message = `nobody answers there, where ${host} leads: mailboxd is not running, or listens elsewhere`
    return finding('error', 'door_closed', at, message, 'mailboxctl status')
  }
  const message = `it could not be reached from here (${text}), where ${host} leads: try it from another machine. Behind NAT that may be so and all well; else a firewall or the hoster keeps others out`
  return notChecked(at, message)
}

/** mailboxd runs, and its API is plain HTTP: who is missing is the proxy that TLS ends at. */
function withoutProxy(at: string, host: string, { http, acme, hostname }: Config): Finding {
  const [listens] = http.listen as [string]
  const said = `nothing answers yet where base_url leads: the API itself runs at ${listens}, in plain HTTP, and a proxy with TLS belongs before it (trusted_proxies = ["127.0.0.1/32"] under [http] lets it tell clients apart); for nginx see the guide of TLS and proxies`
  const names = acme.names.length > 0 ? acme.names : [hostname]
  if (acme.directory === undefined) {
    const message = `${said}. For Caddy this is all of its configuration`
    return finding('error', 'proxy_missing', at, message, caddyApi(host, listens))
  }
  const message = `${said}. For Caddy this is all of its configuration. It takes port 80, where the CA asks mailboxd: so first put listen = ["${questionsAt}"] under [acme] of mailboxd.toml and restart mailboxd, or no certificate is renewed`
  const caddy = `${caddyQuestions(names)}\n\n${caddyApi(host, listens)}`
  return finding('error', 'proxy_missing', at, message, caddy)
}

/** Where mailboxd answers the CA when a proxy has port 80, as the guide of TLS and proxies has it. */
const questionsAt = '127.0.0.1:8080'

/** Lets the CA's questions about these names pass to mailboxd (RFC 8555 §8.3). */
function caddyQuestions(names: readonly string[]): string {
  const sites = names.map(name => `http://${name}`).join(', ')
  return `${sites} {
\thandle /.well-known/acme-challenge/* {
\t\treverse_proxy ${questionsAt}
\t}
\thandle {
\t\tredir https://{host}{uri}
\t}
}`
}

function caddyApi(host: string, listens: string): string {
  return `https://${host} {\n\treverse_proxy ${listens} {\n\t\tflush_interval -1\n\t}\n}`
}

function judge(
  { clock, config }: DoorParts,
  at: string,
  { port, host }: Door,
  { fault, notAfter }: NonNullable<Probed['certificate']>,
): Finding[] {
  // Whoever delivers to port 25 looks at no certificate, unless a policy says so.
  const isNeeded = port !== 25 || config.mta_sts.mode === 'enforce'
  const level = isNeeded ? 'error' : 'warning'
  if (fault) {
    const codes: Readonly<Record<string, string>> = {
      'certificate-expired': 'certificate_expired',
      'certificate-host-mismatch': 'certificate_other_name',
    }
    const more = isNeeded ? 'clients refuse it' : 'who wants to be sure delivers nothing'
    const remedies: Readonly<Record<string, string>> = {
      'certificate-expired': 'Renew it, or see why it is not renewed',
      'certificate-host-mismatch': 'Have one for that name',
    }
    const remedy = remedies[fault.type] ?? 'Let the file have the whole chain'
    const message = `as it is shown to others, ${fault.text.replace(/^its/, 'the')} (for ${host}): ${more}. ${remedy}`
    return [
      finding(level, codes[fault.type] ?? 'certificate_not_trusted', at, message, 'mailboxctl tls list'),
    ]
  }
  const left = Math.floor((notAfter.getTime() - clock.now().getTime()) / 86_400_000)
  if (left >= certificateSoonDays) return []
  const message = `the certificate that it shows ends in ${left} days: renew it, or see why it is not renewed`
  return [finding('warning', 'certificate_ends_soon', at, message, 'mailboxctl tls list')]
}

/** Whether all mail leaves by a server that passes it on. */
export function leavesBySmarthost({ delivery }: Pick<Config, 'delivery'>): boolean {
  return delivery.route.some(one => one.host !== undefined && !one.fallback && one.domains.includes('*'))
}

/** Whether mail can leave by port 25. A laboratory's does not leave by it. @param host who is tried */
export async function checkWayOut(app: DoorParts, host: string): Promise<Finding[]> {
  if (app.config.delivery.port !== 25 || leavesBySmarthost(app.config)) return []
  const [address] = (await app.dns.resolve4(host).catch(() => [])) as string[]
  if (address === undefined) {
    return [
      notChecked(host, 'whether port 25 of others can be reached was not tried: DNS has no address of it'),
    ]
  }
  if (await canConnect(address, 25, port25Ms)) return []
  const message =
    'port 25 of other servers can not be reached from here, so no mail goes out: ask whoever rents you the machine to open it'
  return [finding('error', 'port_25_closed', host, message)]
}

/** Those that DNS has, a few; undefined: it does not say. */
async function findAddresses(app: DoorParts, host: string): Promise<string[] | undefined> {
  return (await findHostAddresses(app.dns, host))?.slice(0, mxAddresses)
}
