import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import { limits } from '../base/limits.ts'
import { Reply } from '../base/reply.ts'
import { createTally } from '../base/tally.ts'
import type { Networked } from '../core/app/app.ts'
import { requireKnownSender } from '../core/inbound/greylist.ts'
import { createReceiver } from '../core/inbound/receiver.ts'
import { isRolePath, type Recipient, resolveRecipient } from '../core/inbound/recipient.ts'
import type { CertificateSet } from '../tls/certificate-set.ts'
import type { Connection } from './connection.ts'
import { Connections } from './connections.ts'
import { acceptData } from './data.ts'
import { checkMail, checkRcpt } from './mail.ts'
import { refusalOf, refuse } from './refusal.ts'
import type { Session } from './session.ts'
import { createShares } from './shares.ts'

export interface SmtpDoorOptions {
  readonly certificates: CertificateSet
  /** How long a peer may say nothing between two commands (RFC 5321 §4.5.3.2.7 wants five minutes). */
  readonly idleTimeoutMs: number
  readonly sessionTimeoutMs: number
  readonly dataTimeoutMs: number
  /** How many messages one session may bring (421 above it). */
  readonly maxMessages: number
}

export interface SmtpDoor {
  listen(host: string, port: number): Promise<AddressInfo>
  /** New handshakes get these certificates; sessions under way go on. */
  reload(certificates: CertificateSet): void
  /** Listens no more, sends waiting sessions away with 421 and lets messages under way come to their end. */
  stop(): Promise<void>
}

/** Commands of smtp-server that this server has no use for. */
const disabledCommands = ['AUTH', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL']
const stopping = new Reply(421, '4.3.2', 'This server is stopping; try again soon')

/** The door that mail comes in by (RFC 5321): commands are checked here, what they mean is core's. */
export function createSmtpDoor(app: Networked, options: SmtpDoorOptions): SmtpDoor {
  const { config } = app
  const receiver = createReceiver(app)
  const sessions = new Map<string, Session>()
  const shares = createShares(config.smtp, app.clock)
  const places = new Map<string, () => void>()
  const turnedAway = createTally(app.clock, limits.tallyMs, counts =>
    app.log.warn({ counts }, 'SMTP connections were turned away'),
  )
  const servers: SMTPServer[] = []
  let { certificates } = options

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

  function begin(smtp: SMTPServerSession, connection: Connection | undefined): Session {
    const session: Session = {
      id: smtp.id,
      remoteAddress: smtp.remoteAddress,
      log: app.log.child({ sessionId: smtp.id, remoteAddress: smtp.remoteAddress }),
      unknownRecipients: 0,
      dnsList: undefined,
      recipients: [],
      isReceivingData: false,
      deadline: setTimeout(
        () => dismiss(session, new Reply(421, '4.4.2', 'The session took too long')),
        options.sessionTimeoutMs,
      ).unref(),
      dismissal: undefined,
      end(reply) {
        connection?.send(reply.code, `${reply.enhanced} ${reply.text}`)
        connection?.close()
      },
    }
    sessions.set(smtp.id, session)
    return session
  }

  /** Ends the session, but not in a message: its bytes have their own deadline, and its reply must still be said. */
  function dismiss(session: Session, reply: Reply): void {
    if (session.isReceivingData) session.dismissal = reply
    else session.end(reply)
  }

  /** A place for a connection that has just come, or the reply that there is none. */
  function takePlace({ id, remoteAddress }: Connection) {
    const place = shares.connect(remoteAddress)
    if (place instanceof Reply) turnedAway.note(place.text)
    else places.set(id, place.release)
    return {
      refusal: place instanceof Reply ? place : undefined,
      greetingDelayMs: shares.isTrusted(remoteAddress) ? 0 : config.smtp.greeting_delay,
    }
  }

  function askLists({ remoteAddress }: Session): Promise<string | undefined> {
    return shares.isTrusted(remoteAddress) ? Promise.resolve(undefined) : app.dnsLists.find(remoteAddress)
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

  function createServer(): SMTPServer {
    const connections = new Connections(takePlace, options.maxMessages)
    const server: SMTPServer = new SMTPServer({
      name: config.hostname,
      banner: 'mailboxd',
      heloResponse: '%s',
      size: config.smtp.max_size,
      rejectOversized: true,
      maxRecipients: config.smtp.max_recipients,
      maxClients: config.smtp.max_connections,
      maxCommandLength: limits.smtpCommandBytes,
      hideENHANCEDSTATUSCODES: false,
      hideDSN: true,
      hideREQUIRETLS: true,
      authOptional: true,
      disabledCommands,
      disableReverseLookup: true,
      socketTimeout: options.idleTimeoutMs,
      closeTimeout: limits.stopPeersMs,
      logger: false,
      key: certificates.fallback.key,
      cert: certificates.fallback.cert,
      // Without a context the fallback is shown.
      SNICallback: (servername, callback) => callback(null, certificates.contextFor(servername)),
      minVersion: 'TLSv1.2',

      onConnect(smtp, callback) {
        begin(smtp, connections.find(smtp.id)).log.debug('session began')
        callback()
      },

      onMailFrom(address, smtp, callback) {
        answer(smtp, callback, async session => {
          checkMail(address, smtp)
          shares.takeMessage(session.remoteAddress)
          session.dnsList ??= askLists(session)
          session.recipients = []
        })
      },

      onRcptTo(address, smtp, callback) {
        answer(smtp, callback, async session => {
          checkRcpt(address, smtp)
          await requireUnlisted(session, address.address)
          const recipient = await findRecipient(session, address.address)
          if (!shares.isTrusted(session.remoteAddress)) {
            const { mailFrom } = smtp.envelope
            const sender = mailFrom === false ? '' : mailFrom.address
            const { remoteAddress } = session
            const stranger = { remoteAddress, mailFrom: sender, recipient }
            await requireKnownSender(receiver, stranger, receiver.main.noteStranger)
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
            options.dataTimeoutMs,
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
        places.get(smtp.id)?.()
        places.delete(smtp.id)
        const session = sessions.get(smtp.id)
        if (!session) return
        clearTimeout(session.deadline)
        sessions.delete(smtp.id)
        session.log.debug('session ended')
      },
    })
    server.connections = connections
    // Those that are told that there is no room have a socket, too, for a moment. Beyond this many none is taken at all.
    server.server.maxConnections = config.smtp.max_connections * 2
    // A peer that breaks off is no fault of ours; what it left unfinished was never promised.
    server.on('error', error => app.log.debug({ err: error }, 'SMTP connection broke'))
    return server
  }

  return {
    listen(host, port) {
      const server = createServer()
      servers.push(server)
      return new Promise((resolve, reject) => {
        server.server.once('error', reject)
        server.listen({ host, port, ipv6Only: true }, () => {
          server.server.off('error', reject)
          resolve(server.server.address() as AddressInfo)
        })
      })
    },
    reload(set) {
      certificates = set
      const { key, cert } = set.fallback
      for (const server of servers) server.updateSecureContext({ key, cert })
    },
    async stop() {
      await Promise.all(
        servers.map(
          server =>
            new Promise<void>(resolve => {
              server.close(() => resolve())
              for (const connection of server.connections) {
                const session = sessions.get(connection.id)
                if (session) dismiss(session, stopping)
                else connection.send(stopping.code, `${stopping.enhanced} ${stopping.text}`)
              }
            }),
        ),
      )
    },
  }
}
