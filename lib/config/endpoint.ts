import { ipVersion } from './ip-version.ts'

/** An IP address (IPv6 without brackets) and a port; port 0 listens on any free one. */
export interface Endpoint {
  readonly host: string
  readonly port: number
}

const endpointForm = /^(?:\[([^[\]]+)\]|([^:[\]]+)):(0|[1-9][0-9]{0,4})$/

/** Reads `127.0.0.1:25` or `[::1]:25`. Throws on any other text. */
export function parseEndpoint(text: string): Endpoint {
  const [, bracketed, plain, port] = endpointForm.exec(text) ?? []
  const host = bracketed ?? plain ?? ''
  const isRight = bracketed === undefined ? ipVersion(host) === 4 : ipVersion(host) === 6
  if (!isRight || Number(port) > 65_535) throw new RangeError(`not an address and a port: ${text}`)
  return { host, port: Number(port) }
}

/** `127.0.0.1:25` or `[::1]:25`. */
export function formatEndpoint({ host, port }: Endpoint): string {
  return ipVersion(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`
}

/** What is wrong with `text` as address:port, and the repair; undefined when nothing is. */
export function endpointFault(text: string): string | undefined {
  if (ipVersion(text) === 6) return `has no port: write "[${text}]:25", with the port that you mean`
  if (ipVersion(text.replace(/^\[(.*)\]$/, '$1')))
    return `has no port: write "${text}:25", with the port that you mean`
  const cut = text.lastIndexOf(':')
  if (cut < 0) return 'must be an IP address and a port, such as "127.0.0.1:25" or "[::1]:25"'
  const host = text.slice(0, cut)
  const port = text.slice(cut + 1)
  if (!/^(0|[1-9][0-9]{0,4})$/.test(port) || Number(port) > 65_535) {
    return `has no valid port after the last colon: a port is a whole number from 0 to 65535`
  }
  if (host === '' || host === '*') {
    return `must name an address: write "0.0.0.0:${port}" for every IPv4 address and "[::]:${port}" for every IPv6 address`
  }
  if (ipVersion(host) === 6) return `needs brackets around the IPv6 address: write "[${host}]:${port}"`
  const bare = /^\[(.*)\]$/.exec(host)?.[1]
  if (bare === undefined ? ipVersion(host) === 4 : ipVersion(bare) === 6) return undefined
  return 'must begin with an IP address, not a name: such as "127.0.0.1:25" or "[::1]:25"'
}

/** The address under which clients reach an HTTP listener when `base_url` is not set; no slash at the end. */
export function defaultBaseUrl(listener: Endpoint, hostname: string): string {
  const everyAddress = listener.host === '0.0.0.0' || listener.host === '::'
  return `http://${everyAddress ? `${hostname}:${listener.port}` : formatEndpoint(listener)}`
}

/** Reads an address and a port as `parseEndpoint`, or an absolute path, which is that of a socket of this machine. */
export function parseSocket(text: string): Endpoint | { readonly path: string } {
  return text.startsWith('/') ? { path: text } : parseEndpoint(text)
}
