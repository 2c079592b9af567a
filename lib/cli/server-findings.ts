import { existsSync, statfsSync } from 'node:fs'
import { isIP } from 'node:net'
import { createNetworkSet } from '../base/network.ts'
import { parseEndpoint } from '../config/endpoint.ts'
import type { Config } from '../config/load.ts'
import { proofOf } from '../config/postgres-query.ts'
import { diskNearlyFull } from '../core/doctor/machine.ts'
import { type Finding, finding } from '../core/domains/diagnosis.ts'
import { checkCertificates } from './certificates.ts'

const isLoopback = createNetworkSet(['127.0.0.0/8', '::1/128'])

/** What of the configuration and the machine loses mail, or will; it is told at the start and by mailboxctl doctor. */
export async function serverFindings(config: Config): Promise<Finding[]> {
  const { hostname, base_url: baseUrl, data_dir: dataDir } = config
  const found: Finding[] = []
  // Nobody comes to a laboratory.
  const isLaboratory = config.delivery.mode === 'capture'
  if (!isLaboratory) found.push(...selfSignedFindings(config))
  if (!isLaboratory && baseUrl === undefined) {
    const message =
      'base_url is not set: the links in mails to strangers lead to the address that the API listens on'
    found.push(finding('warning', 'base_url_missing', hostname, message, `base_url = "https://${hostname}"`))
  }
  found.push(...withoutTlsFindings(config), ...databaseFindings(config))
  if (existsSync(dataDir)) {
    const { bavail, blocks, bsize } = statfsSync(dataDir)
    const left = `${Math.floor((bavail * bsize) / 1e6)} MB are left`
    if (bavail * bsize < config.min_free) {
      const message = `the disk is full: ${left}, and min_free asks for ${Math.ceil(config.min_free / 1e6)} MB: all mail is deferred (452), and the API stores nothing new (503). Make room, or change min_free`
      found.push(finding('error', 'disk_full', dataDir, message, `df -h ${dataDir}`))
    } else if (bavail < blocks * diskNearlyFull || bavail * bsize < 2 * config.min_free) {
      const message = `the disk is nearly full: ${left}, and below ${Math.ceil(config.min_free / 1e6)} MB mail is deferred`
      found.push(finding('warning', 'disk_nearly_full', dataDir, message))
    }
  }
  const { faults, outOfTime, warnings } = await checkCertificates(config)
  return [
    ...found,
    ...[...faults, ...outOfTime].map(one => finding('error', 'certificate', one.path, one.message)),
    ...warnings.map(one => finding('warning', 'certificate', one.path, one.message)),
  ]
}

/** That keys go over a network in the clear: clients are sent to a URL without TLS, or come from elsewhere without any. */
export function withoutTlsFindings({ http, base_url: baseUrl }: Config): Finding[] {
  const why = 'without TLS: keys and mail can be read on the way. Put a proxy with TLS before it'
  const url = baseUrl === undefined ? undefined : new URL(baseUrl)
  if (url?.protocol === 'https:') return []
  const open = http.listen.filter(one => !isLoopback(parseEndpoint(one).host))
  if (open.length > 0) {
    const message = `the API listens on ${open.join(', ')} ${why}`
    const paste = '[http]\nlisten = ["127.0.0.1:8025"]'
    return [finding('warning', 'api_without_tls', open[0]!, message, paste)]
  }
  if (url === undefined || isHere(url.hostname.replace(/^\[(.*)\]$/, '$1'))) return []
  const message = `base_url is ${url.origin}, and so clients reach the API ${why}, and name that one`
  return [
    finding('warning', 'api_without_tls', url.hostname, message, `base_url = "https://${url.hostname}"`),
  ]
}

/** That the rows and the password go over a network in the clear. */
export function databaseFindings({ database }: Config): Finding[] {
  if (database === undefined) return []
  const [place = '', query = ''] = database.split('?')
  const server = place.slice(place.lastIndexOf('@') + 1).split('/')[0] ?? ''
  const asked = new URLSearchParams(query)
  // Without a host it is a socket, and so is what begins with a slash, which stands in a URL as %2F.
  const host = (asked.get('host') ?? server).replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  if (isHere(host)) return []
  const mode = asked.get('sslmode')
  const proof = proofOf(asked)
  const paste = `database = "${withVerifyFull(database)}"`
  if (proof === 'name') {
    if (mode === 'verify-full') return []
    const message = `sslmode=${mode} is taken for verify-full, and other programs verify less with it: write what holds`
    return [finding('hint', 'database_in_clear', host, message, paste)]
  }
  const given = mode === null ? 'without sslmode' : `with sslmode=${mode}`
  const what = {
    clear: 'nothing on the way there is encrypted: the password goes to whoever answers',
    anybody: 'nobody there has to prove who it is: rows and password go to whoever answers',
    authority: 'every server with a certificate of that CA is believed, whatever its name',
  }[proof]
  const message = `the rows are on another machine, and ${given} ${what}`
  return [finding('warning', 'database_in_clear', host, message, paste)]
}

/** The URL of a server that has to prove its name. */
function withVerifyFull(database: string): string {
  const bare = database
    .replaceAll(/(?<=[?&])(?:sslmode|uselibpqcompat)=[^&]*(?:&|$)/g, '')
    .replace(/[?&]$/, '')
  return `${bare}${bare.includes('?') ? '&' : '?'}sslmode=verify-full`
}

/** Whether a server is on this machine, by the host of its URL. */
function isHere(host: string): boolean {
  return (
    host === '' || host === 'localhost' || /^(\/|%2f)/i.test(host) || (isIP(host) !== 0 && isLoopback(host))
  )
}

/** What follows where certificates are neither files nor come from a CA, and how to have one that others can verify. */
export function selfSignedFindings({ tls, acme, submission, hostname }: Config): Finding[] {
  if (tls.certificate.length > 0 || acme.directory !== undefined) return []
  const isSubmitted = submission.listen.length + submission.listen_tls.length > 0
  const refusing = isSubmitted ? ', and most clients send nothing by submission' : ''
  const message = `the certificate is one that mailboxd signs itself: servers that bring mail use it all the same (STARTTLS), others can not verify it${refusing}. Let a CA give one: read its terms of service, see that port 80 is free and open, add the table [acme] to the configuration (mailboxctl doctor shows it), and restart mailboxd`
  const paste = '[acme]\ndirectory = "https://acme-v02.api.letsencrypt.org/directory"\nterms_agreed = true'
  return [finding('warning', 'certificate_self_signed', hostname, message, paste)]
}
