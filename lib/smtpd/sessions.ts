import type { Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import { Reply } from '../base/reply.ts'
import { stopPeersMs } from '../base/time.ts'
import type { Receiver } from '../core/inbound/receiver.ts'
import type { SubmissionDoor } from '../core/submission/door.ts'
import type { CertificateSet } from '../tls/certificate-set.ts'
import { smtpCommandBytes } from './command-lines.ts'
import type { Connection } from './connection.ts'
import { Connections } from './connections.ts'
import type { DoorName } from './door-name.ts'
import { findWhoGivesWay, type GivesWay } from './give-way.ts'
import { incomingSteps, type Rates } from './incoming.ts'
import { refusalOf, refuse } from './refusal.ts'
import type { Session } from './session.ts'
import type { Steps } from './steps.ts'
import { authenticate, submissionSteps } from './submission.ts'

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
  readonly door: DoorName
  readonly remoteAddress: string
  readonly remotePort: number
  readonly localAddress: string
  readonly localPort: number
  /** Whether the operator trusts the address: it is neither counted nor kept waiting. */
  readonly isTrusted: boolean
}

export interface SessionsParts extends SessionBounds {
  readonly receiver: Receiver
  readonly submission: SubmissionDoor
  readonly certificates: CertificateSet
  readonly rates: Rates
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
  /** Who may be asked for his place, as in lib/smtpd/give-way.ts. */
  findWhoGivesWay(crowd: string | undefined): Promise<readonly GivesWay[]>
  /** All places are taken: says 421 to these and closes them. */
  sendAway(ids: readonly string[]): void
  /** Sends waiting sessions away with 421 and lets messages under way come to their end. */
  stop(): Promise<void>
}

/** Commands of smtp-server that this server has no use for; AUTH stands at the doors of submission alone. */
const disabledCommands = ['XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL']
const taken = new Reply(421, '4.3.2', 'All connections are taken, and others wait; connect again')
const stopping = new Reply(421, '4.3.2', 'This server is stopping; try again soon')

/** Sessions in this thread: commands are checked here, what they mean is core's. */
export function createSessions(parts: SessionsParts): Sessions {
  const { receiver } = parts
  const { config } = receiver
  const sessions = new Map<string, Session>()
  const isTold = receiver.log.isLevelEnabled('debug')
  let { certificates } = parts
  let drained: (() => void) | undefined

  type Answer = (error?: Error | null, text?: string) => void

  /** Runs a step of a transaction and tells the peer how it ended. */
  function answer(
    smtp: SMTPServerSession,
    callback: Answer,
    step: (session: Session) => Promise<string | undefined> | Promise<void>,
  ): void {
    const session = sessions.get(smtp.id)
    if (!session) {
      callback(refusalOf(new Reply(421, '4.3.2', 'The session is over')))
      return
    }
    step(session).then(
      text => {
        session.broughtMs = receiver.clock.monotonicMs()
        if (text === undefined) callback()
        else callback(null, text)
      },
      error => callback(refuse(error, session.log)),
    )
  }

  function begin({ id, door, remoteAddress, isTrusted }: Admitted): void {
    let log: Session['log'] | undefined
    const beganMs = receiver.clock.monotonicMs()
    const session: Session = {
      id,
      door,
      submitter: undefined,
      remoteAddress,
      isTrusted,
      // Most sessions have nothing to say.
      get log() {
        log ??= receiver.log.child({ sessionId: id, remoteAddress, ...(door !== 'smtp' && { door }) })
        return log
      },
      unknownRecipients: 0,
      dnsList: undefined,
      recipients: [],
      beganMs,
      broughtMs: beganMs,
      coming: undefined,
      isJudged: false,
      hadTurn: false,
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

  /** Who has a key is no stranger that one waits to see break a rule. */
  const greetingDelayMs = ({ id }: Connection) => {
    const session = sessions.get(id)
    return !session || session.isTrusted || session.door !== 'smtp' ? 0 : config.smtp.greeting_delay
  }
  const connections = new Connections(greetingDelayMs, parts.maxMessages, (code, enhanced) =>
    receiver.meter.count('smtp_refusals_total', String(code), enhanced),
  )
  const servers = new Map<DoorName, SMTPServer>()
  const incoming = incomingSteps(parts)
  const submitting = submissionSteps(parts)

  /** Begins with the first connection of its door. */
  function serverOf(door: DoorName): SMTPServer {
    const known = servers.get(door)
    if (known) return known
    const made = new SMTPServer({
      ...(door === 'smtp'
        ? { authOptional: true, hideDSN: true, disabledCommands: ['AUTH', ...disabledCommands] }
        : { authMethods: ['PLAIN', 'LOGIN'], hideDSN: false, disabledCommands }),
      // From its first byte on the handshake is part of the session, and has its times.
      ...(door === 'submissions' && { secure: true, needsUpgrade: true }),
      ...optionsOf(door === 'smtp' ? incoming : submitting),
    })
    made.connections = connections
    // A peer that breaks off is no fault of ours; what it left unfinished was never promised.
    made.on('error', error => receiver.log.debug({ err: error }, 'SMTP connection broke'))
    servers.set(door, made)
    return made
  }

  const optionsOf = (steps: Steps): SMTPServerOptions => ({
    name: config.hostname,
    banner: 'mailboxd',
    heloResponse: '%s',
    size: config.smtp.max_size,
    rejectOversized: true,
    maxRecipients: config.smtp.max_recipients,
    maxCommandLength: smtpCommandBytes,
    // checkMail and checkRcpt say what is an address: the library refuses an underscore in a domain.
    lenientAddressParsing: true,
    hideENHANCEDSTATUSCODES: false,
    hideREQUIRETLS: true,
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

    onAuth(given, smtp, callback) {
      const settle: Answer = (error, user) => (error ? callback(error) : callback(null, { user }))
      answer(smtp, settle, async session => {
        session.submitter = await authenticate(parts.submission, session, given)
        return session.submitter.address
      })
    },

    onMailFrom(address, smtp, callback) {
      answer(smtp, callback, session => steps.mail(session, address, smtp))
    },

    onRcptTo(address, smtp, callback) {
      answer(smtp, callback, session => steps.rcpt(session, address, smtp))
    },

    onData(stream, smtp, callback) {
      const reply: Answer = (error, text) => {
        callback(error, text)
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
          const text = await steps.data(session, stream, smtp)
          session.hadTurn = true
          return text
        } finally {
          clearTimeout(deadline)
          session.isReceivingData = false
          session.coming = undefined
          session.isJudged = false
          session.broughtMs = receiver.clock.monotonicMs()
          session.recipients = []
        }
      })
    },

    onClose(smtp) {
      end(smtp.id)
    },
  })

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
      serverOf(admitted.door).connect(socket, admitted)
    },
    reload(set) {
      certificates = set
      const { key, cert } = set.fallback
      for (const server of servers.values()) server.updateSecureContext({ key, cert })
    },
    findWhoGivesWay: crowd =>
      Promise.resolve(findWhoGivesWay(sessions.values(), receiver.clock.monotonicMs(), crowd)),
    sendAway(ids) {
      for (const id of ids) {
        const session = sessions.get(id)
        // Its message may have come to its end meanwhile.
        if (!session || session.isJudged) continue
        const connection = connections.find(id)
        session.end(taken)
        // Its place is free when its socket is gone, and whoever takes all of them does not hang up.
        connection?._socket.destroySoon()
      }
    },
    async stop() {
      for (const server of servers.values()) server.close()
      const { promise, resolve } = Promise.withResolvers<void>()
      drained = resolve
      const late = setTimeout(() => {
        for (const session of sessions.values()) session.end(stopping)
        resolve()
      }, stopPeersMs)
      for (const session of sessions.values()) dismiss(session, stopping)
      if (sessions.size > 0) await promise
      clearTimeout(late)
    },
  }
}
