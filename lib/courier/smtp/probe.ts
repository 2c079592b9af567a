import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { oneLine } from '../../base/text.ts'
import { certificateFault } from '../encryption/demand.ts'
import type { TlsFault } from '../tls-result.ts'
import { readExtensions } from './extensions.ts'
import { smtpReplyBytes } from './remote-reply.ts'

/** The certificate that a door shows. */
export interface ShownCertificate {
  /** Why it is not believed as that of the host. */
  readonly fault: TlsFault | undefined
  readonly notAfter: Date
}

/** What a door says to who comes by the wire, as far as it was come. */
export interface Probed {
  /** The first line of its greeting. */
  readonly greeting?: string
  /** undefined: it offers no TLS, or it was not come so far. */
  readonly certificate?: ShownCertificate
  /** Where STARTTLS is how TLS begins. */
  readonly offersStartTls?: boolean
  /** What went wrong, with the code of the system where it has one. */
  readonly fault?: { readonly code: string | undefined; readonly text: string }
}

export interface Door {
  /** The name that the certificate must be for. */
  readonly host: string
  readonly address: string
  readonly port: number
  /** `smtp`: TLS by STARTTLS; `tls`: from the first byte. */
  readonly kind: 'smtp' | 'tls'
}

/** Comes to a door as a stranger does, looks at its greeting and its certificate, and leaves. Never throws for what the other side does. */
export async function probeDoor(door: Door, name: string, timeoutMs: number): Promise<Probed> {
  const signal = AbortSignal.timeout(timeoutMs)
  const socket = connect({ host: door.address, port: door.port })
  const abort = () => socket.destroy(Object.assign(new Error('it took too long'), { code: 'ETIMEDOUT' }))
  signal.addEventListener('abort', abort, { once: true })
  let so: Probed = {}
  try {
    await event(socket, 'connect')
    if (door.kind === 'tls') return { certificate: await shown(socket, door.host) }
    const greeting = await readReply(socket)
    so = { greeting: oneLine(greeting.split(/\r?\n/)[0] ?? '') }
    socket.write(`EHLO ${name}\r\n`)
    const offersStartTls = readExtensions(await readReply(socket)).has('STARTTLS')
    so = { ...so, offersStartTls }
    if (!offersStartTls) return so
    socket.write('STARTTLS\r\n')
    const reply = await readReply(socket)
    if (!reply.startsWith('220')) throw new Error(`it answered STARTTLS with ${reply}`)
    return { ...so, certificate: await shown(socket, door.host) }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
    return { ...so, fault: { code, text: oneLine(error instanceof Error ? error.message : String(error)) } }
  } finally {
    signal.removeEventListener('abort', abort)
    socket.on('error', () => {})
    socket.destroy()
  }
}

/** Whether anything answers: at many hosters port 25 of others is closed until one asks. */
export async function canConnect(address: string, port: number, timeoutMs: number): Promise<boolean> {
  const socket = connect({ host: address, port, timeout: timeoutMs })
  return new Promise(resolve => {
    const end = (isOpen: boolean) => () => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', end(true)).once('timeout', end(false)).once('error', end(false))
  })
}

async function shown(socket: Socket, host: string): Promise<ShownCertificate> {
  const encrypted: TLSSocket = connectTls({
    socket,
    host,
    // RFC 6066 §3: a server name is no address.
    servername: isIP(host) ? '' : host,
    rejectUnauthorized: false,
  })
  try {
    await event(encrypted, 'secureConnect')
    const certificate = encrypted.getPeerX509Certificate()
    if (!certificate) throw new Error('it shows no certificate')
    return { fault: certificateFault(encrypted), notAfter: new Date(certificate.validTo) }
  } finally {
    encrypted.on('error', () => {})
    encrypted.destroy()
  }
}

/** One reply with all its lines, bounded. */
function readReply(socket: Socket): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let heard = ''
  const take = (chunk: Buffer) => {
    heard += chunk.toString('latin1')
    if (heard.length > smtpReplyBytes) return reject(new Error('its reply has no end'))
    if (/^\d{3}(?: .*)?\r?\n/m.test(heard)) resolve(heard)
  }
  const close = () => reject(new Error('it closed the connection'))
  socket.on('data', take)
  socket.once('error', reject)
  socket.once('close', close)
  return promise.finally(() => {
    socket.off('data', take)
    socket.off('error', reject)
    socket.off('close', close)
  })
}

function event(socket: Socket, name: 'connect' | 'secureConnect'): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const close = () => reject(new Error('it closed the connection'))
  socket.once(name, resolve)
  socket.once('error', reject)
  socket.once('close', close)
  return promise.finally(() => {
    socket.off('error', reject)
    socket.off('close', close)
  })
}
