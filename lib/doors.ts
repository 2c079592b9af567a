import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import type { Log } from './base/log.ts'
import type { LogStyle } from './base/log-style.ts'
import { tellPortHolder } from './base/port-holder.ts'
import { smtpThreadsMax } from './base/threads.ts'
import { durationMs } from './config/duration.ts'
import { type Endpoint, formatEndpoint, parseEndpoint } from './config/endpoint.ts'
import type { Config } from './config/load.ts'
import { createThrottles } from './core/account/throttles.ts'
import type { Networked } from './core/app/app.ts'
import { createHttpDoor, type HttpDoor } from './http/server.ts'
import { createMetricsDoor, type MetricsDoor } from './metrics/door.ts'
import { createLook } from './metrics/look.ts'
import type { Metrics } from './metrics/registry.ts'
import { createSmtpDoor, type SmtpDoor } from './smtpd/server.ts'
import type { PassedSockets } from './systemd.ts'
import type { Certificates } from './tls/certificates.ts'

/** How long a peer of the SMTP door may say nothing between two commands (RFC 5321 §4.5.3.2.7). */
const smtpIdlePeerMs = 300_000
/** Messages of an SMTP session (421 above it). */
export const smtpMessages = 1_000
/** How long one of them may stand still before it is ended; one small message takes milliseconds. */
const smtpThreadStillMs = 10_000
/** Sessions that each of them has before another one starts: it costs 20 MB and a fifth of a second of a processor. */
const smtpThreadSessions = 4
/** After so long without a connection the threads of SMTP sessions end. */
const smtpThreadIdleMs = 120_000

interface Doors {
  readonly smtp: SmtpDoor
  readonly http: HttpDoor
  /** Only if metrics are counted. */
  readonly metrics: MetricsDoor | undefined
}

interface DoorParts {
  readonly certificates: Certificates
  readonly metrics: Metrics | undefined
  readonly logStyle: LogStyle | undefined
}

/** Makes the doors, which listen nowhere yet. */
export function createDoors(app: Networked, { certificates, metrics, logStyle }: DoorParts): Doors {
  const { smtp: settings } = app.config
  const throttles = createThrottles(app)
  const smtp = createSmtpDoor(app, {
    throttles,
    certificates: certificates.current,
    idleTimeoutMs: smtpIdlePeerMs,
    sessionTimeoutMs: durationMs(settings.session_timeout),
    dataTimeoutMs: durationMs(settings.data_timeout),
    maxMessages: smtpMessages,
    threads: settings.threads || Math.min(availableParallelism(), smtpThreadsMax),
    threadSessions: smtpThreadSessions,
    threadTimeoutMs: smtpThreadStillMs,
    threadIdleMs: smtpThreadIdleMs,
    logStyle,
  })
  certificates.onChange(smtp.reload)
  const http = createHttpDoor(app, throttles)
  const certificatesEnd = () => certificates.current.pairs.map(pair => pair.notAfter)
  const look = metrics && createLook(app, metrics, { smtp, http, certificatesEnd })
  return { smtp, http, metrics: look && createMetricsDoor(metrics, look, app.log) }
}

/** What listens. */
interface Door {
  listen(host: string, port: number): Promise<AddressInfo>
  /** Takes a socket that listens already, by its descriptor; a door that the service manager passes none has no need of it. */
  adopt?(descriptor: number): Promise<AddressInfo>
}

interface Listening {
  /** The `listen` of the setting. */
  readonly addresses: readonly string[]
  /** Sockets that the service manager passed on: they are open already, and stay so when this process ends. */
  readonly descriptors: readonly number[]
  /** What chose the port of a setting, as it is told of; undefined: nobody did, and another one may be listened on when it is taken (local mode). */
  chosenBy(setting: string): string | undefined
  readonly log: Log
  /** The setting, as it is told of. */
  readonly setting: string
}

type OpenParts = Pick<Listening, 'chosenBy' | 'log'> & { readonly sockets: PassedSockets }

/** Opens the door of the API where its setting says. */
export function openHttp(door: HttpDoor, { http }: Config, parts: OpenParts): Promise<Endpoint[]> {
  const descriptors = parts.sockets.http
  return openDoor(door, { ...parts, setting: 'http.listen', addresses: http.listen, descriptors })
}

/** Opens the door of SMTP and those of submission, each where its setting says. */
export async function openSmtp(
  door: SmtpDoor,
  { smtp, submission }: Config,
  parts: OpenParts,
): Promise<{ readonly smtp: readonly Endpoint[]; readonly submission: readonly Endpoint[] }> {
  const open = (
    one: Door,
    name: 'smtp' | 'submission' | 'submissions',
    setting: string,
    addresses: readonly string[],
  ) => openDoor(one, { ...parts, setting, addresses, descriptors: parts.sockets[name] })
  const opened = await open(door, 'smtp', 'smtp.listen', smtp.listen)
  const plain = await open(door.submission, 'submission', 'submission.listen', submission.listen)
  const tls = await open(door.submissions, 'submissions', 'submission.listen_tls', submission.listen_tls)
  return { smtp: opened, submission: [...plain, ...tls] }
}

/** Opens the door of the metrics where its setting says. */
export async function openMetrics(
  door: MetricsDoor,
  { metrics }: Config,
  parts: OpenParts,
): Promise<Endpoint[]> {
  const asked = { setting: 'metrics.listen', addresses: metrics.listen, descriptors: [] }
  const opened = await openDoor(door, { ...parts, ...asked })
  parts.log.info({ metrics: opened.map(formatEndpoint) }, 'metrics can be asked for')
  return opened
}

/**
 * Opens a door: takes the sockets that were passed on, and listens on each address that none of these is.
 * @returns where it listens, in the order of the setting first
 * @throws Error of node:net with what chose the port, for one that is taken with who has it
 */
async function openDoor(door: Door, listening: Listening): Promise<Endpoint[]> {
  const { addresses, descriptors, log, setting } = listening
  const passed: Endpoint[] = []
  for (const descriptor of descriptors) {
    const { address, port } = await door.adopt!(descriptor)
    passed.push({ host: address, port })
  }
  const wanted = addresses.map(parseEndpoint)
  for (const one of passed) {
    if (wanted.some(each => formatEndpoint(each) === formatEndpoint(one))) continue
    log.warn(
      { socket: formatEndpoint(one), setting },
      'systemd passed a socket that the setting does not name: it is used all the same',
    )
  }
  const opened: Endpoint[] = []
  for (const { host, port } of wanted) {
    const isOpen = passed.some(
      one => one.port === port && (one.host === host || isEveryAddress(one.host, host)),
    )
    opened.push({ host, port: isOpen ? port : (await listenOrMove(door, host, port, listening)).port })
  }
  const others = passed.filter(one => !opened.some(each => formatEndpoint(each) === formatEndpoint(one)))
  return [...opened, ...others]
}

/** Whether a socket on `every` takes what comes to `host`, too. */
function isEveryAddress(every: string, host: string): boolean {
  return host.includes(':') ? every === '::' : every === '0.0.0.0'
}

async function listenOrMove(door: Door, host: string, port: number, { chosenBy, setting, log }: Listening) {
  try {
    return await door.listen(host, port)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    const isTaken = error.code === 'EADDRINUSE'
    const holder = isTaken ? tellPortHolder(port) : ''
    const chosen = chosenBy(setting)
    if (!isTaken || chosen !== undefined) {
      const byWhom = holder === '' ? '(as root, ss -ltnp shows by which program)' : `by ${holder}`
      if (isTaken) error.message = `${formatEndpoint({ host, port })} is taken ${byWhom}`
      error.message += `; ${chosen ?? setting} names it`
      throw error
    }
    log.warn({ host, port }, `the port is taken${holder === '' ? '' : ` by ${holder}`}; another one is used`)
    return door.listen(host, 0)
  }
}
