import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createIds } from '../../lib/base/ids.ts'
import { createLog } from '../../lib/base/log.ts'
import type { Meter } from '../../lib/base/metrics.ts'
import { createThreadMark } from '../../lib/base/threads.ts'
import { type Clock, systemClock } from '../../lib/base/time.ts'
import { openContent } from '../../lib/blob/content.ts'
import { parseConfig } from '../../lib/config/load.ts'
import { createInbox } from '../../lib/core/account/inboxes.ts'
import { createThrottles } from '../../lib/core/account/throttles.ts'
import type { Networked } from '../../lib/core/app/app.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { rawOf } from '../../lib/core/mailbox/raws.ts'
import { openApp } from '../../lib/core/open.ts'
import { createScreening } from '../../lib/core/screening.ts'
import { createDns } from '../../lib/courier/dns.ts'
import { createSmtpCourier } from '../../lib/courier/smtp/courier.ts'
import type { SmtpTimeouts } from '../../lib/courier/smtp/session.ts'
import { smtpMessages } from '../../lib/doors.ts'
import { createAuthenticator } from '../../lib/mail/authentication/authenticator.ts'
import { createNearReader } from '../../lib/reading/near.ts'
import { createSmtpDoor, type SmtpDoor, type SmtpDoorOptions } from '../../lib/smtpd/server.ts'
import { wholeMessages } from '../../lib/store/search/whole-messages.ts'
import type { MessageRow, WholeMessage } from '../../lib/store/tables.ts'
import { openCertificates } from '../../lib/tls/certificates.ts'
import { loopbackGuard } from '../courier/loopback.ts'
import { makeDataDir } from './migrated.ts'
import { requireUnbroken } from './rows-unbroken.ts'
import type { SmtpDialog } from './smtp-dialog.ts'
import { temporaryDir } from './temporary-dir.ts'
import { until } from './until.ts'

export interface TestDoor {
  readonly app: Networked
  readonly door: SmtpDoor
  readonly port: number
  /** With STARTTLS. */
  readonly submissionPort: number
  /** With TLS from the first byte. */
  readonly submissionsPort: number
  readonly dataDir: string
  /** The entries of the log so far, of every level. */
  readonly log: readonly Record<string, unknown>[]
  /** Makes an inbox; gives its id. */
  inbox(mailboxName: string, domain?: string): Promise<string>
  /** All inbound messages, oldest first. */
  messages(): Promise<WholeMessage[]>
  /** Resolves when the door has read all that was written in `dialog` so far. */
  hasRead(dialog: SmtpDialog): Promise<void>
  /** The bytes of a message, as they crossed the wire. */
  raw(message: MessageRow): Promise<Buffer>
}

export interface TestDoorSettings extends Partial<Omit<SmtpDoorOptions, 'certificates'>> {
  /** Lines for the table `[smtp]`. */
  readonly smtp?: string
  readonly accountDomain?: string
  readonly dataDir?: string
  /** Where the rows are: a PostgreSQL, or else a file. */
  readonly database?: string
  /** More TOML. */
  readonly toml?: string
  /** "127.0.0.1:port" of the test's DNS; without one, nothing is looked up and SPF, DKIM and DMARC are not checked. */
  readonly dns?: string
  /** The port of the servers that mail is delivered to. */
  readonly mxPort?: number
  readonly clock?: Clock
  readonly meter?: Meter
  /** What chance gives, where all of it is to be the same each time. */
  readonly random?: () => number
  /** How long mail servers are waited for. */
  readonly smtpTimeouts?: Partial<SmtpTimeouts>
  /** Names of the invariants that the test itself breaks, by rows that no rule writes. */
  readonly breaks?: readonly string[]
}

/** The SMTP door alone, in this process, over a real database; it and its data go with the test. */
export async function openDoor(t: Test, settings: TestDoorSettings = {}): Promise<TestDoor> {
  const dataDir = settings.dataDir ?? join(temporaryDir(t), 'data')
  const { smtp = '', clock = systemClock } = settings
  // The tests of a file come from one address and in less than a minute.
  const rates = ['connections', 'messages']
    .flatMap(what => ['address', 'block'].map(group => `${what}_per_minute_per_${group}`))
    .filter(name => !smtp.includes(name))
    .map(name => `${name} = 0\n`)
  const config = parseConfig(
    `hostname = "mail.ours.example"
account_domain = "${settings.accountDomain ?? 'ours.example'}"
data_dir = "${dataDir}"
${settings.database === undefined ? '' : `database = "${settings.database}"`}
[smtp]
${rates.join('')}${smtp}
[dns]
servers = ["${settings.dns ?? '127.0.0.1:9'}"]
[authentication]
check = ${settings.dns !== undefined}
${settings.toml ?? ''}
`,
    'test',
  )
  const entries: Record<string, unknown>[] = []
  const log = createLog('debug', { write: line => void entries.push(JSON.parse(line)) })
  // A server that is empty, beside a file of an installation, is refused.
  if (settings.database === undefined) await makeDataDir(dataDir)
  const { app: opened } = await openApp({
    mayMigrate: true,
    config,
    clock,
    ids: createIds(systemClock),
    log,
    random: settings.random ?? Math.random,
    ...(settings.meter && { meter: settings.meter }),
    baseUrl: () => 'http://127.0.0.1',
    ownPorts: () => [],
  })
  await opened.nodes.join()
  const dns = createDns({ servers: [settings.dns ?? '127.0.0.1:9'], timeoutMs: 1000 })
  const courier = createSmtpCourier({
    dns,
    clock: systemClock,
    log,
    hostname: config.hostname,
    guard: loopbackGuard,
    port: settings.mxPort ?? 9,
    sourceAddress: undefined,
    useIpv6: false,
    random: Math.random,
    timeouts: settings.smtpTimeouts,
    mostAtAddress: config.delivery.concurrency_per_destination,
  })
  const { scanner, dnsLists } = createScreening({ config, dns, clock, log, meter: opened.meter })
  // In the thread of the session, as the threads of the daemon do: a thread for each test would read one message and take as long to start as all else.
  const near = createNearReader({
    authenticator: createAuthenticator({
      dns: opened.dns,
      clock: systemClock,
      mta: config.hostname,
      trustedSealers: config.authentication.trusted_arc_sealers,
    }),
    mark: createThreadMark(),
    suspects: new Set(),
    far: opened.mailReader.read,
  })
  const app: Networked = Object.create(opened, {
    mailReader: { value: { ...opened.mailReader, ...near } },
    courier: { value: courier },
    scanner: { value: scanner },
    dnsLists: { value: dnsLists },
  })
  const certificates = await openCertificates({
    pairs: [],
    issued: undefined,
    dataDir,
    hostname: config.hostname,
    clock: systemClock,
    log,
  })
  const door = createSmtpDoor(app, {
    certificates: certificates.current,
    throttles: createThrottles(app),
    idleTimeoutMs: settings.idleTimeoutMs ?? 60_000,
    sessionTimeoutMs: settings.sessionTimeoutMs ?? 60_000,
    dataTimeoutMs: settings.dataTimeoutMs ?? 60_000,
    maxMessages: settings.maxMessages ?? smtpMessages,
    threads: settings.threads ?? 1,
    threadSessions: settings.threadSessions ?? 0,
    threadTimeoutMs: settings.threadTimeoutMs ?? 10_000,
    threadIdleMs: settings.threadIdleMs ?? 60_000,
  })
  const { port } = await door.listen('127.0.0.1', 0)
  const { port: submissionPort } = await door.submission.listen('127.0.0.1', 0)
  const { port: submissionsPort } = await door.submissions.listen('127.0.0.1', 0)
  const sockets = new Map<string, Socket>()
  const noteSocket = (message: unknown) => {
    const { socket } = message as { socket: Socket }
    sockets.set(`${socket.remoteAddress}:${socket.remotePort}`, socket)
  }
  subscribe('net.server.socket', noteSocket)
  t.teardown(async () => {
    unsubscribe('net.server.socket', noteSocket)
    await door.stop()
    await certificates.stop()
    await scanner.close()
    await app.mailReader.stop()
    await app.renderer.stop()
    try {
      await requireUnbroken(app, settings.breaks)
    } finally {
      await app.store.close()
    }
  })
  return {
    app,
    door,
    port,
    submissionPort,
    submissionsPort,
    dataDir,
    log: entries,
    inbox: async (mailboxName, domain) =>
      (await createInbox(app, operator, { mailboxName, ...(domain === undefined ? {} : { domain }) })).id,
    messages: () =>
      wholeMessages(app.store.read)
        .where('message.direction', '=', 'inbound')
        .orderBy('message.id')
        .execute(),
    async hasRead(dialog) {
      await until(
        'the door to have read all',
        () => sockets.get(dialog.localEnd)?.bytesRead === dialog.writtenBytes(),
      )
    },
    async raw(message) {
      const content = message.rawId === null ? undefined : await rawOf(app, message)
      if (!content) throw new Error(`message ${message.id} has no raw`)
      return Buffer.concat(await openContent(content).toArray())
    },
  }
}
