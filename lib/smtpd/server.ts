import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import { createAddressCount } from '../base/address-count.ts'
import { limits } from '../base/limits.ts'
import { Reply } from '../base/reply.ts'
import type { Networked } from '../core/app/app.ts'
import { resolveRecipient } from '../core/inbound/recipient.ts'
import type { Certificate } from './certificate.ts'
import { type Connection, Connections } from './connections.ts'
import { acceptData } from './data.ts'
import { checkMail, checkRcpt } from './mail.ts'
import { refusalOf, refuse } from './refusal.ts'
import type { Session } from './session.ts'

export interface SmtpDoorOptions {
  readonly certificate: Pick<Certificate, 'key' | 'cert'>
  /** How long a peer may say nothing between two commands (RFC 5321 §4.5.3.2.7 wants five minutes). */
  readonly idleTimeoutMs: number
  readonly sessionTimeoutMs: number
  readonly dataTimeoutMs: number
}

export interface SmtpDoor {
  listen(host: string, port: number): Promise<AddressInfo>
  /** New handshakes get this certificate; sessions under way go on. */
  reload(certificate: Pick<Certificate, 'key' | 'cert'>): void
  /** Listens no more, sends waiting sessions away with 421 and lets messages under way come to their end. */
  stop(): Promise<void>
}

/** Commands of smtp-server that this server has no use for. */
const disabledCommands = ['AUTH', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL']
const stopping = new Reply(421, '4.3.2', 'This server is stopping; try again soon')
/** How much of the time to stop is left to messages under way. */
const drainMs = limits.stopMs * 0.6

/** The door that mail comes in by (RFC 5321): commands are checked here, what they mean is core's. */
export function createSmtpDoor(app: Networked, options: SmtpDoorOptions): SmtpDoor {
  const { config } = app
  const sessions = new Map<string, Session>()
  const perAddress = createAddressCount(config.smtp.max_connections_per_address)
  const servers: SMTPServer[] = []

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
      error => {
        session.refusals++
        const isTooMany = session.refusals > limits.smtpRefusals
        callback(
          refuse(isTooMany ? new Reply(421, '4.7.0', 'Too many refused commands') : error, session.log),
        )
      },
    )
  }

  function begin(smtp: SMTPServerSession, connection: Connection | undefined): Session {
    const session: Session = {
      id: smtp.id,
      remoteAddress: smtp.remoteAddress,
      log: app.log.child({ sessionId: smtp.id, remoteAddress: smtp.remoteAddress }),
      refusals: 0,
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

  function createServer(): SMTPServer {
    const connections = new Connections()
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
      closeTimeout: drainMs,
      logger: false,
      key: options.certificate.key,
      cert: options.certificate.cert,
      minVersion: 'TLSv1.2',

      onConnect(smtp, callback) {
        if (perAddress.add(smtp.remoteAddress)) {
          begin(smtp, connections.find(smtp.id)).log.debug('session began')
          callback()
        } else {
          callback(refusalOf(new Reply(421, '4.7.0', 'Too many connections from your address')))
        }
      },

      onMailFrom(address, smtp, callback) {
        answer(smtp, callback, async session => {
          checkMail(address, smtp)
          session.recipients = []
        })
      },

      onRcptTo(address, smtp, callback) {
        answer(smtp, callback, async session => {
          checkRcpt(address, smtp)
          const recipient = await resolveRecipient(app, address.address)
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
            await acceptData(app, session, smtp, stream)
          } finally {
            clearTimeout(deadline)
            session.isReceivingData = false
            session.recipients = []
          }
        })
      },

      onClose(smtp) {
        const session = sessions.get(smtp.id)
        if (!session) return
        perAddress.remove(session.remoteAddress)
        clearTimeout(session.deadline)
        sessions.delete(smtp.id)
        session.log.debug('session ended')
      },
    })
    server.connections = connections
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
    reload({ key, cert }) {
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
