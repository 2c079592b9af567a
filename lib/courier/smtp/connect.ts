import { connect, isIPv6, type Socket } from 'node:net'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { limits } from '../../base/limits.ts'
import { oneLine } from '../../base/one-line.ts'
import {
  type Answer,
  abortError,
  type SmtpError,
  SmtpSession,
  type SmtpTimeouts,
  type Watch,
} from './session.ts'

export interface SessionOptions {
  /** Our name, said with EHLO. */
  readonly hostname: string
  readonly port: number
  readonly timeouts: SmtpTimeouts
  /** The local address to connect from, of each family. */
  readonly sourceAddress?:
    | { readonly ipv4?: string | undefined; readonly ipv6?: string | undefined }
    | undefined
}

/**
 * Connects and greets, encrypted when the host offers STARTTLS. Opportunistic (RFC 7435): no certificate is
 * verified, and where encryption fails the same host is asked once more in plaintext.
 */
export async function openSession(
  host: string,
  address: string,
  options: SessionOptions,
  watch: Watch,
): Promise<SmtpSession | Answer> {
  const first = await begin(host, address, options, watch, true)
  if (first instanceof SmtpSession || first.isTlsFailure !== true || watch.signal.aborted) return first
  return begin(host, address, options, watch, false)
}

async function begin(
  host: string,
  address: string,
  options: SessionOptions,
  watch: Watch,
  mayEncrypt: boolean,
): Promise<SmtpSession | Answer> {
  const { signal } = watch
  const socket = await openSocket(address, options, signal)
  if ('isLost' in socket) return socket
  const { timeouts } = options
  const connection = new SMTPConnection({
    connection: socket,
    host,
    name: options.hostname,
    ignoreTLS: !mayEncrypt,
    tls: { servername: host, rejectUnauthorized: false, minVersion: 'TLSv1.2' },
    greetingTimeout: timeouts.greetingMs,
    // Nodemailer's limit for all from here to the end of the handshake.
    connectionTimeout: timeouts.greetingMs + timeouts.commandMs,
    socketTimeout: timeouts.commandMs,
    socketCloseTimeout: 0,
    maxResponseSize: limits.smtpReplyBytes,
  })
  return new Promise(resolve => {
    const fail = (error: SmtpError) => {
      resolve(connectFailure(error, connection))
      connection.close()
    }
    const abort = () => fail(abortError(signal))
    signal.addEventListener('abort', abort, { once: true })
    connection.once('end', () => signal.removeEventListener('abort', abort))
    // Always listened to: an error of a session that nobody waits for must not end the process.
    connection.on('error', fail)
    connection.once('end', () => setImmediate(() => fail(new Error('the connection was closed'))))
    socket.once('data', () => watch.heard())
    connection.connect(error => {
      if (error) return fail(error)
      signal.removeEventListener('abort', abort)
      resolve(new SmtpSession(host, address, connection, timeouts))
    })
    if (signal.aborted) abort()
  })
}

function openSocket(address: string, options: SessionOptions, signal: AbortSignal): Promise<Socket | Answer> {
  const localAddress = isIPv6(address) ? options.sourceAddress?.ipv6 : options.sourceAddress?.ipv4
  const socket = connect({
    host: address,
    port: options.port,
    ...(localAddress === undefined ? {} : { localAddress }),
  })
  return new Promise(resolve => {
    const fail = (error: Error) => {
      end()
      socket.on('error', () => {})
      socket.destroy()
      resolve({ stage: 'connect', text: error.message, isLost: true, sent: 'none' })
    }
    const abort = () => fail(abortError(signal))
    const timer = setTimeout(
      () => fail(new Error(`no connection to ${address} within ${options.timeouts.connectMs} ms`)),
      options.timeouts.connectMs,
    )
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      socket.removeListener('error', fail)
    }
    socket.once('error', fail)
    signal.addEventListener('abort', abort, { once: true })
    socket.once('connect', () => {
      end()
      resolve(socket)
    })
    if (signal.aborted) abort()
  })
}

function connectFailure(error: SmtpError, connection: SMTPConnection): Answer {
  const { response } = error
  const isClosing = error.responseCode === 421
  const wasEncrypting = connection.upgrading === true || (connection.secure && response === undefined)
  return {
    stage: 'connect',
    text: oneLine(error.message),
    isLost: response === undefined || error.code === 'ETIMEDOUT' || error.code === 'ESOCKET',
    isTlsFailure: !isClosing && (wasEncrypting || error.code === 'ETLS'),
    sent: 'none',
    ...(response === undefined ? {} : { lines: response }),
  }
}
