import type { Socket } from 'node:net'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import { limits } from '../base/limits.ts'
import { Reply } from '../base/reply.ts'
import { requireKnownSender } from '../core/inbound/greylist.ts'
import type { Receiver } from '../core/inbound/receiver.ts'
import { isRolePath, type Recipient, resolveRecipient } from '../core/inbound/recipient.ts'
import type { CertificateSet } from '../tls/certificate-set.ts'
import type { Connection } from './connection.ts'
import { Connections } from './connections.ts'
import { acceptData } from './data.ts'
import { checkMail, checkRcpt } from './mail.ts'
import { refusalOf, refuse } from './refusal.ts'
import type { Session } from './session.ts'

/** What bounds each session; it crosses into the thread of the sessions. */
export interface SessionBounds {
  /** How long a peer may say nothing between two commands (RFC 5321 §4.5.3.2.7 wants five minutes). */
  readonly idleTimeoutMs: number
  readonly sessionTimeoutMs: number
  readonly dataTimeoutMs: number
  /** How many messages one session may bring (421 above it). */
  readonly maxMessages: number
}

/** A connection that has a place at the door, as it is handed over to its session. */
export interface Admitted {
  readonly id: string
  readonly remoteAddress: string
  readonly remotePort: number
  readonly localAddress: string
  readonly localPort: number
  /** Whether the operator trusts the address: it is neither counted nor kept waiting. */
  readonly isTrusted: boolean
}

export interface SessionsParts extends SessionBounds {
  readonly receiver: Receiver
  readonly certificates: CertificateSet
  /** @throws Reply 450 4.7.1 when the peer has begun too many messages in a minute */
  takeMessage(address: string): Promise<void> | void
  /** Called once with the id of each connection that has ended. */
  ended(id: string): void
}

/** Where SMTP sessions are held: in this thread, or in another one. */
export interface Sessions {
  /** How many there are. */
  readonly size: number
  /** Greets a connection, of which nothing was read yet. */
  take(admitted: Admitted, socket: Socket): void
  /** New handshakes get these certificates; sessions under way go on. */
  reload(certificates: CertificateSet): void
  /** Sends waiting sessions away with 421 and lets messages under way come to their end. */
  stop(): Promise<void>
}

/** Commands of smtp-server that this server has no use for. */
const disabledCommands = ['AUTH', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL']
const stopping = new Reply(421, '4.3.2', 'This server is stopping; try again soon')

/** Sessions in this thread: commands are checked here, what they mean is core's. */
export function createSessions(parts: SessionsParts): Sessions {
  const { receiver } = parts
  const { config, main } = receiver
  const sessions = new Map<string, Session>()
  const isTold = receiver.log.isLevelEnabled('debug')
  let { certificates } = parts
  let drained: (() => void) | undefined

  type Answer = (error?: Error | null) => void

  /** Runs a step of a transaction and tells the peer how it ended. */
  function answer(
    smtp: SMTPServerSession,
    callback: Answer,
    step: (session: Session) => Promise<void>,
  ): void {
    const session = sessions.get(smtp.id)
    if (!session) {
      callback(refusalOf(new Reply(421, '4.3.2', 'The session is over')))
      return
    }
    step(session).then(
      () => callback(),
      error => callback(refuse(error, session.log)),
    )
  }

  function begin({ id, remoteAddress, isTrusted }: Admitted): void {
    let log: Session['log'] | undefined
    const session: Session = {
      id,
      remoteAddress,
      isTrusted,
      // Most sessions have nothing to say.
      get log() {
        log ??= receiver.log.child({ sessionId: id, remoteAddress })
        return log
      },
      unknownRecipients: 0,
      dnsList: undefined,
      recipients: [],
      isReceivingData: false,
      deadline: setTimeout(
        () => dismiss(session, new Reply(421, '4.4.2', 'The session took too long')),
        parts.sessionTimeoutMs,
      ).unref(),
      dismissal: undefined,
      end(reply) {
        const connection = connections.find(id)
        connection?.send(reply.code, `${reply.enhanced} ${reply.text}`)
        connection?.close()
      },
    }
    sessions.set(id, session)
    if (isTold) session.log.debug('session began')
  }

  /** Ends the session, but not in a message: its bytes have their own deadline, and its reply must still be said. */
  function dismiss(session: Session, reply: Reply): void {
    if (session.isReceivingData) session.dismissal = reply
    else session.end(reply)
  }

  async function askLists({ remoteAddress, isTrusted }: Session): Promise<string | undefined> {
    if (isTrusted || config.dns_lists.zones.length === 0) return undefined
    return main.findDnsList(remoteAddress)
  }

  /** @throws Reply 550 5.7.1 when a DNS list has the peer, except to those whom it may ask why */
  async function requireUnlisted(session: Session, rcptTo: string): Promise<void> {
    const zone = await session.dnsList
    if (zone === undefined || config.dns_lists.action !== 'refuse' || isRolePath(rcptTo)) return
    throw new Reply(550, '5.7.1', `Your address ${session.remoteAddress} is listed by ${zone}`)
  }

  /** @throws Reply as `resolveRecipient`; 421 when this is one guess too many */
  async function findRecipient(session: Session, rcptTo: string): Promise<Recipient> {
    try {
      return await resolveRecipient(receiver, rcptTo)
    } catch (error) {
      const isUnknown = error instanceof Reply && error.enhanced === '5.1.1'
      if (!isUnknown || ++session.unknownRecipients <= limits.smtpUnknownRecipients) throw error
      throw new Reply(421, '4.7.0', 'Too many unknown recipients')
    }
  }

  const greetingDelayMs = ({ id }: Connection) =>
    sessions.get(id)?.isTrusted ? 0 : config.smtp.greeting_delay
  const connections = new Connections(greetingDelayMs, parts.maxMessages, (code, enhanced) =>
    receiver.meter.count('smtp_refusals_total', String(code), enhanced),
  )
  const server: SMTPServer = new SMTPServer({
    name: config.hostname,
    banner: 'mailboxd',
    heloResponse: '%s',
    size: config.smtp.max_size,
    rejectOversized: true,
    maxRecipients: config.smtp.max_recipients,
    maxCommandLength: limits.smtpCommandBytes,
    hideENHANCEDSTATUSCODES: false,
    hideDSN: true,
    hideREQUIRETLS: true,
    authOptional: true,
    disabledCommands,
    disableReverseLookup: true,
    socketTimeout: parts.idleTimeoutMs,
    logger: false,
    key: certificates.fallback.key,
    cert: certificates.fallback.cert,
    // Without a context the fallback is shown.
    SNICallback: (servername, callback) => callback(null, certificates.contextFor(servername)),
    minVersion: 'TLSv1.2',

    onConnect(_smtp, callback) {
      callback()
    },

    onMailFrom(address, smtp, callback) {
      answer(smtp, callback, async session => {
        checkMail(address, smtp)
        receiver.requireRoom()
        if (!session.isTrusted) await parts.takeMessage(session.remoteAddress)
        session.dnsList ??= askLists(session)
        session.recipients = []
      })
    },

    onRcptTo(address, smtp, callback) {
      answer(smtp, callback, async session => {
        checkRcpt(address, smtp)
        await requireUnlisted(session, address.address)
        const recipient = await findRecipient(session, address.address)
        if (!session.isTrusted) {
          const { mailFrom } = smtp.envelope
          const sender = mailFrom === false ? '' : mailFrom.address
          const stranger = { remoteAddress: session.remoteAddress, mailFrom: sender, recipient }
          await requireKnownSender(receiver, stranger, main.noteStranger)
        }
        // The library counts a path that is said again once, and so do we: a peer may say it for ever.
        if (
          !session.recipients.some(({ rcptTo }) => rcptTo.toLowerCase() === recipient.rcptTo.toLowerCase())
        ) {
          session.recipients.push(recipient)
        }
      })
    },

    onData(stream, smtp, callback) {
      const reply: Answer = error => {
        callback(error)
        const session = sessions.get(smtp.id)
        if (session?.dismissal) session.end(session.dismissal)
      }
      answer(smtp, reply, async session => {
        session.isReceivingData = true
        const deadline = setTimeout(
          () => stream.destroy(new Reply(421, '4.4.2', 'The message took too long to arrive')),
          parts.dataTimeoutMs,
        )
        try {
          await acceptData(receiver, session, smtp, stream)
        } finally {
          clearTimeout(deadline)
          session.isReceivingData = false
          session.recipients = []
        }
      })
    },

    onClose(smtp) {
      end(smtp.id)
    },
  })
  server.connections = connections
  // A peer that breaks off is no fault of ours; what it left unfinished was never promised.
  server.on('error', error => receiver.log.debug({ err: error }, 'SMTP connection broke'))

  function end(id: string): void {
    const session = sessions.get(id)
    if (!session) return
    clearTimeout(session.deadline)
    sessions.delete(id)
    if (isTold) session.log.debug('session ended')
    parts.ended(id)
    if (sessions.size === 0) drained?.()
  }

  return {
    get size() {
      return sessions.size
    },
    take(admitted, socket) {
      begin(admitted)
      // It is given its id, or it draws one.
      server.connect(socket, admitted)
    },
    reload(set) {
      certificates = set
      const { key, cert } = set.fallback
      server.updateSecureContext({ key, cert })
    },
    async stop() {
      server.close()
      const { promise, resolve } = Promise.withResolvers<void>()
      drained = resolve
      const late = setTimeout(() => {
        for (const session of sessions.values()) session.end(stopping)
        resolve()
      }, limits.stopPeersMs)
      for (const session of sessions.values()) dismiss(session, stopping)
      if (sessions.size > 0) await promise
      clearTimeout(late)
    },
  }
}
