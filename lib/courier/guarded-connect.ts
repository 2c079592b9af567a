import { connect, isIP, type Socket } from 'node:net'
import { type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls'
import type { Dns } from '../base/network.ts'
import { oneLine } from '../base/text.ts'
import type { AddressGuard } from './address-guard.ts'
import { findAddresses } from './mx.ts'

/** Where a connection is to lead. */
export interface Target {
  readonly isTls: boolean
  /** A name without its final dot, or an address without brackets. */
  readonly host: string
  readonly port: number
}

export interface ConnectOptions {
  readonly dns: Dns
  readonly guard: AddressGuard
  readonly secureContext: SecureContext
  /** What TCP and TLS to one address may take. */
  readonly connectMs: number
  /** How the sentence ends that says where the host points: "where webhooks are not sent". */
  readonly refusalEnd: string
}

/** An open connection to an address that was checked. */
export interface Opened {
  readonly socket: Socket
  readonly address: string
}
/** Why there is none; nothing was sent. */
export interface NotOpened {
  readonly error: string
  /** The address that was tried last; none that was refused. */
  readonly address?: string
}

/**
 * Connects to the target. Its name is resolved once; each address must pass the guard before it is connected to, by its
 * number, so that no second answer of DNS can change it; and what the socket is connected to must pass it again. Only then
 * TLS begins, with the certificate verified for the target's name. Addresses that are refused are left out.
 */
export async function openTarget(
  target: Target,
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<Opened | NotOpened> {
  const found = await unlessAborted(addressesOf(target.host, options.dns), signal)
  if ('error' in found) return found
  let refused: string | undefined
  let failed: NotOpened | undefined
  for (const address of found.addresses) {
    if (signal.aborted) break
    const refusal = options.guard.refusal(address, target.port)
    if (refusal !== undefined) {
      refused ??= refusal
      continue
    }
    try {
      return { socket: await openAddress(target, address, options, signal), address }
    } catch (error) {
      failed = { error: describe(error), address }
    }
  }
  return failed ?? { error: `the host points at ${refused}, ${options.refusalEnd}` }
}

type Found = { readonly addresses: readonly string[] } | { readonly error: string }

/** Whether the name (lower case, no final dot) is this machine for certain: `localhost` and what is under it. */
function isLocalhost(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

async function addressesOf(host: string, dns: Dns): Promise<Found> {
  if (isIP(host)) return { addresses: [host] }
  // Known without asking (RFC 6761 §6.3).
  if (isLocalhost(host)) return { addresses: ['127.0.0.1', '::1'] }
  const found = await findAddresses(dns, host, true)
  return 'failure' in found ? { error: found.failure.text } : found
}

function unlessAborted(answer: Promise<Found>, signal: AbortSignal): Promise<Found> {
  return new Promise((resolve, reject) => {
    const abort = () => resolve({ error: `${messageOf(signal.reason)}, DNS being asked` })
    signal.addEventListener('abort', abort, { once: true })
    const end = () => signal.removeEventListener('abort', abort)
    answer.finally(end).then(resolve, reject)
    if (signal.aborted) abort()
  })
}

/** Throws what kept the connection from being. */
function openAddress(
  { host, port, isTls }: Target,
  address: string,
  { guard, secureContext, connectMs }: ConnectOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const tcp = connect({ host: address, port, noDelay: true })
  let socket: Socket | TLSSocket = tcp
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail(new Error(`no connection within ${connectMs} ms`)), connectMs)
    const abort = () => fail(new Error(`${messageOf(signal.reason)}, connecting to ${address}`))
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      socket.removeListener('close', closed)
    }
    const fail = (error: Error) => {
      end()
      socket.destroy()
      tcp.destroy()
      reject(error)
    }
    const closed = () => fail(new Error(`the connection to ${address} was closed`))
    const done = () => {
      end()
      resolve(socket)
    }
    signal.addEventListener('abort', abort, { once: true })
    // Listened to for its whole life: an error that nobody waits for must not end the process.
    tcp.on('error', fail)
    tcp.once('close', closed)
    tcp.once('connect', () => {
      const refusal = guard.refusal(tcp.remoteAddress ?? '', port)
      if (refusal !== undefined) return fail(new Error(`the host points at ${refusal}`))
      if (!isTls) return done()
      tcp.removeListener('close', closed)
      // RFC 6066 §3: a server name is no address; for one, the certificate is verified for the address.
      const name = isIP(host) ? { servername: '', host } : { servername: host, host }
      socket = tlsConnect({
        socket: tcp,
        ...name,
        secureContext,
        ALPNProtocols: ['http/1.1'],
        // Said, because the environment can turn the default off.
        rejectUnauthorized: true,
      })
      socket.on('error', fail)
      socket.once('close', closed)
      socket.once('secureConnect', done)
    })
    if (signal.aborted) abort()
  })
}

function describe(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const isTls = /^(ERR_SSL|ERR_TLS|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO|HOSTNAME_|INVALID_|EPROTO)/.test(code)
  return oneLine(`${isTls ? 'TLS failed: ' : ''}${messageOf(error)}`)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
