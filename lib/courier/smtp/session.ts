import { Readable, type Writable } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import { oneLine } from '../../base/text.ts'
import type { Stage } from '../outcome.ts'
import { addToNextCommand, type NoticeParameters, noticeParameters, readExtensions } from './extensions.ts'
import { findDecision } from './last-words.ts'
import { goOnAt354Alone, type Hearing } from './remote-reply.ts'

/**
 * What we wait for a peer, with the times of RFC 5321 §4.5.3.2, but for the greeting: a host that takes longer is tried again.
 * After `reset` (RSET between two messages) and `quit` the connection is ended, whatever comes meanwhile. `total` bounds one
 * attempt over all hosts. While other mail waits, a first attempt waits for `firstGreeting` until it is greeted, and
 * otherwise any attempt for `silent` for each reply.
 */
export const smtpClientTimeouts = {
  connectMs: 60_000,
  greetingMs: 60_000,
  commandMs: 300_000,
  dataBlockMs: 180_000,
  finalReplyMs: 600_000,
  resetMs: 5_000,
  quitMs: 2_000,
  totalMs: 1_800_000,
  firstGreetingMs: 2_000,
  silentMs: 10_000,
} as const

/** A message as it crosses the wire, without dot-stuffing; a function makes a new stream for each attempt. */
export type Raw = Buffer | (() => Readable)

/** How long a peer may take for each step, in milliseconds (RFC 5321 §4.5.3.2). */
export type SmtpTimeouts = { readonly [step in keyof typeof smtpClientTimeouts]: number }

/** Who watches an attempt. */
export interface Watch {
  /** Ends the attempt as it stands. */
  readonly signal: AbortSignal
  /** The other side gave a whole reply. */
  heard(): void
  /** From now on the mail may have been taken: to break off could double it. */
  commit(): void
}

/** How a step ended: with lines that the peer said, or with none because the connection failed. */
export interface Answer {
  readonly stage: Stage
  /** The whole reply of the peer to the step, as it came. */
  readonly lines?: string
  /** What happened, in our words, where the peer did not answer the step. */
  readonly text: string
  /** Whether the connection is gone; then `lines`, if any, are the last words and answer nothing. */
  readonly isLost: boolean
  /** Whether this system has no way to the address, by its own table of routes: nothing that a peer or a router says. */
  readonly hasNoWay?: true
  /** Whether STARTTLS is what failed. */
  readonly isTlsFailure?: boolean
  /** How much of the message the peer may have: none of it, a part, or all with the final dot. */
  readonly sent: 'none' | 'part' | 'all'
}

export interface SmtpError extends Error {
  code?: string | undefined
  command?: string | undefined
  response?: string | undefined
  responseCode?: number | undefined
}

const chunkBytes = 64 * 1024
/** A message that leaves in one write, with its final dot. */
const letterBytes = 16 * 1024

/** What a transaction says before DATA. */
export interface Envelope {
  readonly mailFrom: string
  readonly rcptTo: string
  readonly sizeBytes: number
  readonly is8Bit: boolean
  readonly isUtf8: boolean
  readonly notice?: NoticeParameters | undefined
}

/** One SMTP session with a host, past EHLO; carries one message after the other (RFC 5321 §3.3). */
export class SmtpSession {
  readonly host: string
  readonly address: string
  /** What was demanded of it (demandKey): only deliveries that demand the same share it. */
  readonly lane: string
  /** "TLSv1.3 TLS_AES_256_GCM_SHA384"; undefined in plaintext. */
  readonly tls: string | undefined
  readonly extensions: ReadonlyMap<string, string>
  /** How many messages were begun. */
  messages = 0
  readonly #connection: SMTPConnection
  readonly #hearing: Hearing
  readonly #timeouts: SmtpTimeouts
  readonly #closeListeners = new Set<() => void>()

  constructor(
    host: string,
    address: string,
    lane: string,
    connection: SMTPConnection,
    hearing: Hearing,
    timeouts: SmtpTimeouts,
  ) {
    this.host = host
    this.lane = lane
    this.address = address
    this.#connection = connection
    this.#hearing = hearing
    this.#timeouts = timeouts
    goOnAt354Alone(connection)
    const socket = connection._socket
    this.tls = socket instanceof TLSSocket ? `${socket.getProtocol()} ${socket.getCipher().name}` : undefined
    // Since STARTTLS that fails is an error here, the last reply is that to EHLO (or HELO).
    this.extensions = readExtensions(connection.lastServerResponse || '')
    connection.once('end', () => {
      for (const listener of this.#closeListeners) listener()
      this.#closeListeners.clear()
    })
  }

  get isOpen(): boolean {
    return !this.#connection.destroyed
  }

  /** Whether all that was said to the peer has left: what it said before is no answer to the rest. */
  get hasSaidAll(): boolean {
    const socket = this.#connection._socket
    return !socket || socket.writableLength === 0
  }

  /** Calls `listener` when the connection ends; gives what takes it back. */
  onceClosed(listener: () => void): () => void {
    if (this.isOpen) this.#closeListeners.add(listener)
    else listener()
    return () => this.#closeListeners.delete(listener)
  }

  /**
   * MAIL, RCPT, DATA and the message, to one recipient: each delivery has a reverse-path of its own, and a transaction has one
   * (docs/decisions/one-reverse-path-each.md). Addresses are as they go on the wire. Throws only when
   * `raw` can't be read, and the session is closed then.
   */
  async send(envelope: Envelope, raw: Raw, watch: Watch): Promise<Answer> {
    this.messages++
    const { signal } = watch
    const progress: Progress = { sent: 'none' }
    this.#hearing.text = ''
    const isLetter = Buffer.isBuffer(raw) && raw.length <= letterBytes
    const message = isLetter
      ? this.#letter(raw, progress, watch)
      : Readable.from(this.#read(raw, progress, watch), { objectMode: false })
    // A line now and then that says that more comes is no answer.
    this.#hearing.onReply = () => watch.heard()
    let stop = () => {}
    const answer = await new Promise<Answer>(resolve => {
      // Its bytes, as they may be UTF-8 (RFC 6531 §3.7.4.2).
      const heard = () => Buffer.from(this.#hearing.text, 'latin1').toString()
      const fail = (error: SmtpError) => resolve(sendFailure(error, progress, heard()))
      const onError = (error: SmtpError) => fail(error)
      // Nodemailer calls back after 'end' where it knows more.
      const onEnd = () => setImmediate(() => fail(new Error('the connection was closed')))
      const onAbort = () => fail(abortError(signal))
      this.#connection.on('error', onError)
      this.#connection.once('end', onEnd)
      signal.addEventListener('abort', onAbort, { once: true })
      stop = () => {
        this.#connection.removeListener('error', onError)
        this.#connection.removeListener('end', onEnd)
        signal.removeEventListener('abort', onAbort)
      }
      if (signal.aborted) return onAbort()
      // Nodemailer asks for SMTPUTF8 when an address needs it, and knows nothing of the header.
      if (envelope.isUtf8 && !/[^\x00-\x7f]/.test(envelope.mailFrom + envelope.rcptTo))
        addToNextCommand(this.#connection, ' SMTPUTF8')
      this.#connection.send(
        {
          from: envelope.mailFrom,
          to: [envelope.rcptTo],
          size: envelope.sizeBytes,
          use8BitMime: envelope.is8Bit,
          // It says them only to hosts that offer DSN.
          ...(envelope.notice && { dsn: noticeParameters(envelope.notice) }),
        },
        message,
        (error, info) => {
          if (error) return fail(error)
          const stage = 'message'
          resolve({ stage, text: '', lines: info.response, isLost: false, sent: progress.sent })
        },
      )
    })
    stop()
    this.#hearing.onReply = () => {}
    if (progress.sent !== 'all') message.destroy()
    if (answer.isLost) this.close()
    else this.#waitAtMost(this.#timeouts.commandMs)
    if (progress.fault !== undefined) {
      this.close()
      throw progress.fault
    }
    return answer
  }

  /** RSET; false when the host did not agree in time, and the session is closed then. */
  async reset(): Promise<boolean> {
    let forget = () => {}
    const timer = setTimeout(() => this.close(), this.#timeouts.resetMs)
    const isReset = await new Promise<boolean>(resolve => {
      forget = this.onceClosed(() => resolve(false))
      if (this.isOpen) this.#connection.reset(error => resolve(!error))
    })
    clearTimeout(timer)
    forget()
    if (!isReset) this.close()
    return isReset
  }

  /** Says QUIT and waits a little for the answer (RFC 5321 §4.1.1.10). */
  quit(): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(() => this.close(), this.#timeouts.quitMs)
      this.onceClosed(() => {
        clearTimeout(timer)
        resolve()
      })
      if (this.isOpen) this.#connection.quit()
    })
  }

  /** Ends the connection at once. */
  close(): void {
    this.#connection.close()
  }

  /**
   * A message whose bytes are all there: as Nodemailer takes one, without a stream of its own. It and the final dot leave the socket
   * in one segment instead of two.
   */
  #letter(bytes: Buffer, progress: Progress, watch: Watch): Readable {
    const pipe = (to: Writable) => {
      const socket = this.#connection._socket || undefined
      let isOver = false
      const leave = () => {
        if (isOver) return
        isOver = true
        if (!this.isOpen) return
        try {
          watch.commit()
        } catch (error) {
          progress.fault = error
          // To end it would have all of it leave.
          socket?.destroy()
          return this.close()
        }
        socket?.uncork()
      }
      socket?.cork()
      progress.sent = 'all'
      this.#waitAtMost(this.#timeouts.finalReplyMs)
      // A process may stand still at any moment, and others have its mail then: nothing is between the look and the leaving.
      to.once('end', leave)
      // What is too long for the socket's buffer with its dots doubled comes to its end only when it leaves.
      setImmediate(leave)
      to.end(bytes)
    }
    return { pipe, destroy() {} } as unknown as Readable
  }

  async *#read(raw: Raw, progress: Progress, watch: Watch): AsyncGenerator<Buffer> {
    progress.sent = 'part'
    this.#waitAtMost(this.#timeouts.dataBlockMs)
    try {
      // In pieces, because Nodemailer looks at each byte of a piece without a pause.
      if (Buffer.isBuffer(raw))
        for (let at = 0; at < raw.length; at += chunkBytes) yield raw.subarray(at, at + chunkBytes)
      else for await (const chunk of raw()) yield chunk
      watch.commit()
    } catch (error) {
      progress.fault = error
      throw error
    }
    progress.sent = 'all'
    this.#waitAtMost(this.#timeouts.finalReplyMs)
  }

  /** Of silence: whatever the peer says begins it again. */
  #waitAtMost(ms: number): void {
    const socket = this.#connection._socket
    if (socket) socket.setTimeout(ms)
  }
}

interface Progress {
  sent: Answer['sent']
  fault?: unknown
}

/** @param heard what the peer said in this transaction, and was asked for */
function sendFailure(error: SmtpError, { sent }: Progress, heard: string): Answer {
  const text = oneLine(error.message)
  const stage = stageOf(error)
  if (stage !== undefined && error.response !== undefined)
    return { stage, text, isLost: false, sent, lines: error.response }
  // Nodemailer forgets what it has not read when the connection ends, and why a recipient was refused.
  const decision = findDecision(heard)
  if (decision !== undefined && (decision.stage !== 'message' || sent === 'all'))
    return { ...decision, text, isLost: false, sent }
  // 421 is an answer at any time (RFC 5321 §3.8); other last words answer nothing.
  const isLost = error.responseCode !== 421
  const lines = error.response === undefined ? {} : { lines: error.response }
  return { stage: sent === 'none' ? 'mail' : 'message', text, isLost, sent, ...lines }
}

function stageOf(error: SmtpError): Stage | undefined {
  if (error.response === undefined) return undefined
  if (error.code === 'EMESSAGE') return 'message'
  if (error.code !== 'EENVELOPE') return undefined
  const stages: Readonly<Record<string, Stage>> = { 'MAIL FROM': 'mail', 'RCPT TO': 'rcpt', DATA: 'data' }
  return stages[error.command ?? '']
}

/** Why an attempt was given up. */
export function abortError(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('given up')
}
