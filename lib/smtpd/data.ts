import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import { Reply } from '../base/reply.ts'
import { receive } from '../core/inbound/receive.ts'
import type { Receiver } from '../core/inbound/receiver.ts'
import { openIntake } from '../core/mailbox/raws.ts'
import { createLineCheck, type LineFault } from './line-check.ts'
import { type Session, tlsOf } from './session.ts'

/** So many bytes of a message count like a command. */
export const smtpQuietBytes = 16 * 1024

/**
 * Takes the bytes after DATA and hands the message to core. When this resolves, the message is stored.
 * @param count takes the bytes from the peer's share of a minute
 * @throws Reply when the message is refused
 */
export async function acceptData(
  app: Receiver,
  session: Session,
  smtp: SMTPServerSession,
  stream: SMTPServerDataStream,
  count: (sizeBytes: number) => Promise<void> | void,
): Promise<void> {
  const intake = openIntake(app)
  try {
    const content = await takeBytes(app, session, intake, stream)
    await count(stream.byteLength)
    const began = app.clock.monotonicMs()
    const { mailFrom } = smtp.envelope
    await receive(app, {
      sessionId: session.id,
      mailFrom: mailFrom === false ? '' : mailFrom.address,
      recipients: session.recipients,
      content,
      peer: {
        kind: 'smtp',
        remoteAddress: session.remoteAddress,
        helo: smtp.hostNameAppearsAs,
        protocol: protocolOf(smtp),
        tls: tlsOf(smtp),
        dnsList: await session.dnsList,
      },
    })
    app.meter.observe('message_receive_seconds', (app.clock.monotonicMs() - began) / 1000)
  } finally {
    // Whatever was kept was moved to its place; this removes the spool file of what was not.
    await intake.discard()
  }
}

/** As Received names it (RFC 3848, with A who authenticated; RFC 6531 §4.3 where the peer said SMTPUTF8). */
export function protocolOf({ transmissionType, envelope }: SMTPServerSession): string {
  return envelope.smtpUtf8 ? transmissionType.replace(/^E?/, 'UTF8') : transmissionType
}

const refusals: Readonly<Record<LineFault, string>> = {
  'bare CR or LF': 'bare CR or LF; lines must end with CRLF (RFC 5321 2.3.8)',
  NUL: 'NUL byte; encode binary content, such as with base64 (RFC 2045)',
}

/** Reads to the end even what will be refused: the peer gets its reply after the final dot, not in the middle. */
export async function takeBytes(
  app: Receiver,
  session: Session,
  intake: ReturnType<typeof openIntake>,
  stream: SMTPServerDataStream,
) {
  const lines = createLineCheck()
  let fault: LineFault | undefined
  const maxSize = app.config.smtp.max_size
  const tooLarge = () => new Reply(552, '5.3.4', `The message is larger than ${maxSize} bytes`)
  const coming = { sinceMs: app.clock.monotonicMs(), bytes: 0 }
  session.coming = coming
  session.broughtMs = coming.sinceMs
  let brought = 0
  for await (const chunk of bytesOf(stream)) {
    brought += chunk.length
    coming.bytes += chunk.length
    if (brought >= smtpQuietBytes) {
      session.broughtMs = app.clock.monotonicMs()
      brought = 0
    }
    // Reading on politely has its end: a peer that ignores SIZE altogether is cut off.
    if (stream.byteLength > maxSize * 4) {
      session.end(tooLarge())
      throw tooLarge()
    }
    fault = lines.see(chunk)
    if (!fault && !stream.sizeExceeded) await intake.write(chunk)
  }
  session.coming = undefined
  session.isJudged = true
  if (stream.sizeExceeded) throw tooLarge()
  if (fault) {
    // Where lines end another server may see otherwise: what comes behind such a message, as commands, may be a stranger's.
    session.dismissal = new Reply(421, '4.7.0', 'Connect again')
    throw new Reply(550, '5.6.0', `The message has a ${refusals[fault]}`)
  }
  return intake.end()
}

/** A peer that goes away in the middle is no fault of ours; nothing was promised for what it left unfinished. */
async function* bytesOf(stream: SMTPServerDataStream): AsyncGenerator<Buffer> {
  try {
    yield* stream as AsyncIterable<Buffer>
  } catch (error) {
    if (error instanceof Reply) throw error
    throw new Reply(421, '4.4.2', 'The connection was lost', `lost in DATA: ${String(error)}`)
  }
}
