import type { Socket } from 'node:net'
import { Client, type Dispatcher, errors } from 'undici'
import { oneLine } from '../../base/text.ts'

/** How long a webhook connection waits for the next call: unless the server says, and at the most. */
const webhookIdleMs = 4_000
const webhookIdleMaxMs = 30_000
/** Of a webhook's answer: bytes that are kept for the log, that are read at all, and of its header section. */
export const webhookAnswerBytes = 1024
export const webhookReadBytes = 16 * 1024
const webhookHeaderBytes = 16 * 1024

/** What the other side said. */
export interface WebhookAnswer {
  readonly status: number
  readonly retryAfter?: string
  /** The beginning of the body as one line. */
  readonly text: string
}
/** Why there was no answer, and whether a byte of the call may have been sent. */
export interface NoAnswer {
  readonly error: string
  readonly isSent: boolean
}

/**
 * HTTP/1.1 over one open socket: one call after the other, until it closes. It never connects again by itself, so its
 * address stays the one that was checked.
 */
export class WebhookConnection {
  readonly origin: string
  readonly address: string
  readonly port: number
  readonly openedMs: number
  readonly #socket: Socket
  readonly #client: Client
  readonly #onClosed: (connection: WebhookConnection) => void
  #isOpen = true

  constructor(
    socket: Socket,
    at: { origin: string; address: string; port: number; openedMs: number },
    onClosed: (connection: WebhookConnection) => void,
  ) {
    this.#socket = socket
    this.origin = at.origin
    this.address = at.address
    this.port = at.port
    this.openedMs = at.openedMs
    this.#onClosed = onClosed
    let isTaken = false
    this.#client = new Client(at.origin, {
      connect: (_, callback) => {
        const again = isTaken
        isTaken = true
        // Not at once: the client would overlook the request that made it connect.
        queueMicrotask(() => {
          if (again) callback(new errors.SocketError(), null)
          else callback(null, socket)
        })
      },
      allowH2: false,
      pipelining: 1,
      // The caller's signal bounds the whole call.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: webhookHeaderBytes,
      keepAliveTimeout: webhookIdleMs,
      keepAliveMaxTimeout: webhookIdleMaxMs,
    })
    this.#client.on('disconnect', () => this.destroy())
    this.#client.on('connectionError', () => this.destroy())
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#socket.destroyed
  }

  /** Ends it at once, with the call that it carries. */
  destroy(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    void this.#client.destroy()
    this.#socket.destroy()
    this.#onClosed(this)
  }

  /**
   * Sends one POST and reads the beginning of the answer; the status counts as soon as the header is there, whatever
   * becomes of the body. Ends the connection when the signal aborts, or the body is longer than is read.
   */
  post(
    path: string,
    headers: string[],
    body: string | Uint8Array,
    signal: AbortSignal,
  ): Promise<WebhookAnswer | NoAnswer> {
    return new Promise(resolve => {
      let status = 0
      let retryAfter: string | undefined
      let isSent = false
      let readBytes = 0
      const kept: Buffer[] = []

      const settle = (error: string) => {
        signal.removeEventListener('abort', abort)
        if (status === 0) return resolve({ error, isSent })
        const text = oneLine(Buffer.concat(kept).toString('utf8'))
        resolve(retryAfter === undefined ? { status, text } : { status, text, retryAfter })
      }
      const abort = () => {
        settle(signal.reason instanceof Error ? signal.reason.message : String(signal.reason))
        this.destroy()
      }
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart() {
          isSent = true
        },
        onResponseStart(_, code, answered) {
          // Interim answers (RFC 9110 §15.2) say nothing yet.
          if (code < 200) return
          status = code
          const said = answered['retry-after']
          retryAfter = Array.isArray(said) ? said[0] : said
        },
        onResponseData: (_, chunk) => {
          const room = webhookAnswerBytes - readBytes
          if (room > 0) kept.push(chunk.subarray(0, room))
          readBytes += chunk.length
          if (readBytes <= webhookReadBytes) return
          settle('')
          this.destroy()
        },
        onResponseEnd() {
          settle('')
        },
        onResponseError(_, error) {
          settle(describe(error))
        },
      }
      signal.addEventListener('abort', abort, { once: true })
      if (signal.aborted) return abort()
      this.#client.dispatch({ method: 'POST', path, headers, body }, handler)
    })
  }
}

function describe(error: Error): string {
  const code = 'code' in error ? String(error.code) : ''
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return `the answer's header is larger than ${webhookHeaderBytes} bytes`
  if (code.startsWith('HPE_') || error.name === 'HTTPParserError')
    return oneLine(`the answer is not HTTP: ${error.message}`)
  if (code === 'UND_ERR_SOCKET') return 'the connection was closed before an answer'
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'the connection was reset before an answer'
  // What has no code of the system, of TLS or of undici is a fault inside undici, such as an assertion, that the answer has led it to.
  const isKnown = /^(?:E[A-Z]+|UND_ERR_\w+|ERR_(?:SSL|TLS|OSSL)_\w+)$/.test(code)
  return isKnown ? oneLine(error.message) : 'the answer is not HTTP'
}
