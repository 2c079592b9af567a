import { isIPv4 } from 'node:net'
import { webhookUrlLength } from '../../base/lengths.ts'
import type { AddressGuard } from '../address-guard.ts'

export interface WebhookUrlRules {
  /** Whether plain http may be used. */
  readonly allowHttp: boolean
  readonly guard: AddressGuard
}

/** Where a webhook's URL leads. */
export interface WebhookTarget {
  readonly origin: string
  readonly isTls: boolean
  /** The name without its final dot, or the address without brackets. */
  readonly host: string
  readonly port: number
  /** With the query. */
  readonly path: string
}

/** Names of this machine (RFC 6761 §6.3, and those that systems put into their hosts file). */
const localhostForm =
  /^(?:.+\.)?localhost$|^(?:ip6-)?(?:localhost|loopback)$|^localhost[46]?\.localdomain[46]?$/
/** Names that only a private network gives an address (RFC 6762 §3 and appendix G, RFC 8375, ICANN's .internal). */
const privateForm = /(?:^|\.)(?:local|localdomain|internal|intranet|private|corp|home|lan|home\.arpa)$/

/**
 * What is wrong with `text` as a webhook's URL and what to do about it, in a sentence; undefined when nothing is. It asks
 * no DNS: an address that is written in the URL is judged here, the addresses of a name when they are connected to.
 */
export function webhookUrlFault(text: string, rules: WebhookUrlRules): string | undefined {
  const read = readWebhookUrl(text, rules)
  return 'fault' in read ? read.fault : undefined
}

/** The target that the URL names, or what is wrong with it. */
export function readWebhookUrl(
  text: string,
  { allowHttp, guard }: WebhookUrlRules,
): WebhookTarget | { readonly fault: string } {
  if (text.length > webhookUrlLength)
    return fault(`is longer than ${webhookUrlLength} characters: use a shorter one`)
  // The URL parser would drop or rewrite these without a word.
  if (/[\s\\\x00-\x1f\x7f]/.test(text))
    return fault('has a space, a control character or a backslash: write them percent-encoded')
  const [, scheme = '', authority = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i.exec(text) ?? []
  const isHttp = /^http$/i.test(scheme)
  if (isHttp && !allowHttp) return fault('must begin with https://: plain http is not allowed on this server')
  if (!isHttp && !/^https$/i.test(scheme))
    return fault(`must begin with https://${allowHttp ? ' or http://' : ''} and name a host`)
  // The parser would take the first part of the path for a host.
  if (authority === '') return fault('must name a host: write it as https://host.example/path')
  if (authority.includes('@')) return fault('must not have a user name or password: calls are signed instead')
  if (text.includes('#')) return fault('must not have a fragment: leave out # and what follows it')
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return fault('does not name a valid host and port: write it as https://host.example/path')
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  const port = url.port === '' ? (isHttp ? 80 : 443) : Number(url.port)
  if (host === '') return fault('must name a host: write it as https://host.example/path')
  if (port === 0) return fault('names port 0: write the port that the server listens on')
  if (!isHostName(host))
    return fault(
      'names a host that can not be: each part of its name has 1 to 63 characters and no hyphen at an end, all of it 253 at the most',
    )
  const refusal = hostRefusal(host, port, guard)
  if (refusal !== undefined) return fault(refusal)
  return { origin: url.origin, isTls: !isHttp, host, port, path: url.pathname + url.search }
}

/** What DNS can answer (RFC 1035 §2.3.4), or an address. */
function isHostName(host: string): boolean {
  if (host.includes(':')) return true
  return (
    host.length <= 253 && host.split('.').every(label => /^[^-].{0,62}$/.test(label) && !label.endsWith('-'))
  )
}

function hostRefusal(host: string, port: number, guard: AddressGuard): string | undefined {
  if (isIPv4(host) || host.includes(':')) {
    const reason = guard.refusal(host, port)
    return reason && `points at ${reason}, where webhooks are not sent: use a public host`
  }
  if (localhostForm.test(host)) {
    const four = guard.refusal('127.0.0.1', port)
    const isRefused = four !== undefined && guard.refusal('::1', port) !== undefined
    return isRefused ? `points at ${four}, where webhooks are not sent: use a public host` : undefined
  }
  const isPrivateName = !host.includes('.') || privateForm.test(host)
  if (isPrivateName && !guard.allowsNetworks)
    return 'names a host that only a private network knows, where webhooks are not sent: use a public host'
  return undefined
}

function fault(text: string): { readonly fault: string } {
  return { fault: `the webhook URL ${text}` }
}
