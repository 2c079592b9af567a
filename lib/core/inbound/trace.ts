import { isIPv6 } from 'node:net'
import type { Arrival } from './arrival.ts'
import type { Recipient } from './recipient.ts'

/**
 * The fields that final delivery adds before a message: Return-Path and Received (RFC 5321 §4.4), and between them what
 * was found of who sent it (RFC 8601). They are kept beside the raw, which stays as it came.
 * @param of.results the value of Authentication-Results, folded; null where nothing was checked
 */
export function traceFields(of: {
  arrival: Arrival
  recipient: Recipient
  id: string
  hostname: string
  date: Date
  results: string | null
}): string {
  const { arrival, recipient, id, hostname, date, results } = of
  const { peer } = arrival
  const from =
    peer.kind === 'local'
      ? 'by'
      : `from ${heloForm(peer.helo)} ([${addressLiteral(peer.remoteAddress)}])${peer.tls ? ` (${peer.tls})` : ''}\r\n\tby`
  const protocol = peer.kind === 'local' ? 'local' : peer.protocol
  // RFC 5322 §3.3: toUTCString says GMT, which only the obsolete syntax has.
  const stamp = date.toUTCString().replace('GMT', '+0000')
  return (
    `Return-Path: <${arrival.mailFrom}>\r\n` +
    (results === null ? '' : `Authentication-Results: ${results}\r\n`) +
    `Received: ${from} ${hostname} (mailboxd) with ${protocol} id ${id}\r\n\tfor <${recipient.rcptTo}>; ${stamp}\r\n`
  )
}

/** The name that a peer gave itself: what no name or address literal has is written as xtext (RFC 3461 §4), so that it ends nothing. */
function heloForm(helo: string): string {
  return Buffer.from(helo)
    .toString('latin1')
    .replace(
      /[^A-Za-z0-9._:[\]-]/g,
      char => `+${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    )
}

/** RFC 5321 §4.1.3, without its brackets. */
function addressLiteral(address: string): string {
  return isIPv6(address) ? `IPv6:${address}` : address
}
