import { domainToASCII, domainToUnicode } from 'node:url'
import { canonicalAddress } from '../../base/network.ts'

/** An addr-spec (RFC 5321 §4.1.2, RFC 6531 §3.3) taken apart. */
export interface Address {
  /** As written, but with no more quoting than it needs: `"john"` and `john` are the same mailbox. */
  readonly localPart: string
  /** In A-labels, lower-case; or an address literal, as `normaliseLiteral` gives it. */
  readonly domain: string
}

/** RFC 5321 §4.5.3.1; a path has angle brackets besides. */
const localPartBytes = 64
const domainBytes = 255
const pathBytes = 256

const atext = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\u{80}-\\u{10ffff}-]"
const dotString = new RegExp(`^${atext}+(?:\\.${atext}+)*$`, 'u')
const quotedString = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e\u{80}-\u{10ffff}]|\\[\x20-\x7e])*"$/u
const ldhLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
/** Programs write from hosts with such names, which DNS knows and other mail servers accept. */
const underscoredLabel = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/
/** Controls, half surrogates, line separators, and spaces other than the one of ASCII. */
const unprintable = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|[^\P{Zs} ]/u
/** What is not ASCII and would be in the form that is compared, by NFC or in lower case: the sign of Kelvin, two of Greek. */
const asciiTwins = /[\u212a\u037e\u1fef]/

/** A bare addr-spec, without display name, comments or angle brackets. */
export function parseAddress(text: string): Address | undefined {
  if (text.length > pathBytes || unprintable.test(text) || asciiTwins.test(text)) return undefined
  const at = text.lastIndexOf('@')
  const localPart = parseLocalPart(text.slice(0, Math.max(at, 0)))
  const domain = normaliseMailDomain(text.slice(at + 1))
  if (localPart === undefined || domain === undefined) return undefined
  return Buffer.byteLength(localPart) + domain.length + 3 > pathBytes ? undefined : { localPart, domain }
}

/** An address as a server should be told it: its local part as it was written (RFC 5321 §2.4), the domain in A-labels. */
export function writtenAddress(text: string): string | undefined {
  const address = parseAddress(text)
  return address && `${address.localPart}@${address.domain}`
}

/** An address in the one form that mailboxd stores and compares: lower-case, domain in A-labels. */
export function normaliseAddress(text: string): string | undefined {
  const address = parseAddress(text)
  return address && `${address.localPart.normalize('NFC').toLowerCase()}@${address.domain}`
}

/** Returns the domain of an address: as `normaliseDomain`, but with underscores where somebody else uses them, or an address literal. */
export function normaliseMailDomain(text: string): string | undefined {
  return text.startsWith('[') ? normaliseLiteral(text) : domainOfLabels(text, underscoredLabel)
}

/** An address literal (RFC 5321 §4.1.3) in the one form that is stored and compared: `[192.0.2.1]`, `[ipv6:2001:db8::1]`. */
function normaliseLiteral(text: string): string | undefined {
  const literal = /^\[(?<tag>ipv6:)?(?<address>[0-9a-f:.]{2,45})\]$/i.exec(text)?.groups
  const address = literal && canonicalAddress(literal.address!)
  if (address === undefined || address.includes(':') !== (literal!.tag !== undefined)) return undefined
  return address.includes(':') ? `[ipv6:${address}]` : `[${address}]`
}

/** The address that a literal names, of a domain as `parseAddress` gives it; undefined for a domain name. */
export function literalAddress(domain: string): string | undefined {
  return domain.startsWith('[') ? domain.slice(1, -1).replace(/^ipv6:/, '') : undefined
}

/** A host name in A-labels, lower-case and without a final dot (RFC 5890 §2.3.2.1), if it is one. */
export function normaliseDomain(text: string): string | undefined {
  return domainOfLabels(text, ldhLabel)
}

function domainOfLabels(text: string, label: RegExp): string | undefined {
  // domainToASCII reads a URL's host: it would drop what follows a slash and undo percent signs.
  if (/[^A-Za-z0-9_.\u{80}-\u{10ffff}-]/u.test(text)) return undefined
  const domain = (/[^\x00-\x7f]/.test(text) ? domainToASCII(text) : text).toLowerCase()
  if (domain.length > domainBytes) return undefined
  const labels = domain.split('.')
  // All digits at the end is an IP address (RFC 3696 §2).
  if (/^\d+$/.test(labels.at(-1) ?? '')) return undefined
  return labels.every(each => label.test(each)) && !hasFakeLabel(domain) ? domain : undefined
}

/** Whether a label only looks like an A-label (RFC 5890 §2.3.2.1): what UTS 46 maps to other letters would be read as them. */
function hasFakeLabel(domain: string): boolean {
  return /(?:^|\.)xn--/.test(domain) && /(?:^|\.)xn--/.test(domainToUnicode(domain))
}

/**
 * As `normaliseAddress`, of an address that mail can be delivered to: one label alone is no domain of the Internet (RFC 5321
 * §2.3.5), but a name that some network gives a machine.
 */
export function normaliseRecipient(text: string): string | undefined {
  const address = normaliseAddress(text)
  return address !== undefined && /[.[]/.test(domainOf(address)) ? address : undefined
}

/** The domain of an address, in lower case. */
export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase()
}

/** The address without its `+tag` (RFC 5233 calls it the detail). */
export function baseAddress(address: string): string {
  const at = address.lastIndexOf('@')
  const plus = address.indexOf('+')
  return plus > 0 && plus < at && !address.startsWith('"')
    ? address.slice(0, plus) + address.slice(at)
    : address
}

function parseLocalPart(text: string): string | undefined {
  const isQuoted = quotedString.test(text)
  if (!isQuoted && !dotString.test(text)) return undefined
  const localPart = isQuoted ? requoted(text.slice(1, -1)) : text
  return Buffer.byteLength(localPart) > localPartBytes ? undefined : localPart
}

function requoted(quoted: string): string {
  const content = quoted.replace(/\\(.)/gu, '$1')
  return dotString.test(content) ? content : `"${content.replace(/["\\]/g, '\\$&')}"`
}
