import { hash } from 'node:crypto'
import { isIP, isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'
import type { Dns } from '../base/network.ts'
import { isSilence } from './watched-dns.ts'

/** MX hosts that one attempt tries. */
export const mxHosts = 10
/** Addresses of an MX host that one attempt tries. */
export const mxAddresses = 4

/** What is asked of DNS to find where mail goes. */
type MxDns = Pick<Dns, 'resolveMx' | 'resolve4' | 'resolve6'>

/** Why a domain or host can't be reached, in the form that an outcome takes. */
export interface DnsFailure {
  readonly result: 'transient' | 'permanent'
  readonly enhanced: string
  readonly text: string
}

interface Failed {
  readonly failure: DnsFailure
  /** Nothing answered the question: neither the name servers of that name nor, perhaps, our own resolver. */
  readonly isSilence?: boolean
}

/** The hosts to try, in the order to try them; or why there are none. */
export type MxResult =
  | {
      readonly hosts: readonly string[]
      /**
       * What all domains with the same servers in the same order have in common, and no others; undefined where there are more
       * servers than are tried. It is no domain name.
       */
      readonly group: string | undefined
      /** The preference of each host: the smaller, the sooner. */
      readonly preferences: ReadonlyMap<string, number>
    }
  | Failed

export type AddressResult = { readonly addresses: readonly string[] } | Failed

/**
 * Where mail for `domain` goes (RFC 5321 §5.1): its MX hosts by preference, those of equal preference in random
 * order, at most `mxHosts`; without any MX record the domain itself, when it has an address. Where one of them is
 * ours, it and all that are not preferred to it are left out: they would send the mail to us. An IDN may come in either
 * form. `random` gives numbers in [0, 1). Never throws for what DNS says.
 */
export async function findMxHosts(
  dns: MxDns,
  domain: string,
  random: () => number = Math.random,
  isOurs: (host: string) => boolean = () => false,
): Promise<MxResult> {
  const name = asDnsName(domain)
  if (name === undefined) return permanent('5.1.2', `${domain} is not a domain name that takes mail`)
  let records: { exchange: string; priority: number }[]
  try {
    records = await dns.resolveMx(name)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOTFOUND' || code === 'EBADNAME') return permanent('5.1.2', `there is no domain ${name}`)
    if (code !== 'ENODATA') return dnsFailed(`the MX of ${name}`, code)
    records = []
  }
  if (records.length === 0) return isOurs(name) ? loopsBack(name) : implicitMx(dns, name)
  // RFC 7505 §3: "." alone; c-ares writes it as the empty name. Next to other records it means nothing.
  const usable = records.filter(({ exchange }) => exchange !== '' && exchange !== '.')
  if (usable.length === 0) return permanent('5.1.10', `${name} takes no mail (null MX)`)
  const sorted = usable
    .map(({ exchange, priority }) => ({
      exchange: exchange.toLowerCase().replace(/\.$/, ''),
      priority,
      lot: random(),
    }))
    .sort((a, b) => a.priority - b.priority || a.lot - b.lot)
  const ours = sorted.find(({ exchange }) => isOurs(exchange))
  const hosts = sorted.filter(({ priority }) => ours === undefined || priority < ours.priority)
  if (hosts.length === 0) return loopsBack(name)
  // Of a host that stands there twice, the smaller one.
  const preferences = new Map(hosts.toReversed().map(({ exchange, priority }) => [exchange, priority]))
  const names = [...new Set(hosts.map(({ exchange }) => exchange))]
  const group = names.length > mxHosts ? undefined : groupOf(preferences)
  return { hosts: names.slice(0, mxHosts), group, preferences }
}

/**
 * Where mail for an address literal (RFC 5321 §4.1.3) goes: to that address, without DNS.
 * @param address as `literalAddress` gives it
 */
export function literalHost(address: string): Exclude<MxResult, { readonly failure: DnsFailure }> {
  return { hosts: [address], group: `mx:[${address}]`, preferences: new Map([[address, 0]]) }
}

/** The same as the answer of `findAddresses`. */
export function literalAddresses(address: string, useIpv6: boolean): AddressResult {
  if (isIPv6(address) && !useIpv6)
    return transient('4.4.4', `mail to ${address} needs IPv6, which is not in use here (delivery.ipv6)`)
  return { addresses: [address] }
}

/**
 * Named by all servers, for a domain may name servers of others beside its own: what such mail shows is nothing about them.
 * Their order belongs to it: with another one, other servers would be tried first.
 */
function groupOf(preferences: ReadonlyMap<string, number>): string {
  const ranks = [...Map.groupBy(preferences, ([, priority]) => priority)]
    .sort(([a], [b]) => a - b)
    .map(([, hosts]) => hosts.map(([host]) => host).sort())
  const first = ranks[0]![0]!
  if (preferences.size === 1 && /^[a-z0-9._-]+$/.test(first)) return `mx:${first}`
  const digest = hash('sha256', JSON.stringify(ranks), 'base64url').slice(0, 22)
  return `mx:${first}+${preferences.size - 1}:${digest}`
}

/** Why mail for a domain goes nowhere whose mail servers are this one, though it is no domain of ours. */
export function loopsBack(name: string): { readonly failure: DnsFailure } {
  const text = `the mail servers of ${name} lead to this one, which does not take its mail`
  return permanent('5.4.6', text)
}

async function implicitMx(dns: MxDns, name: string): Promise<MxResult> {
  const found = await findAddresses(dns, name, true)
  if ('addresses' in found) {
    const preferences = new Map([[name, 0]])
    return { hosts: [name], group: groupOf(preferences), preferences }
  }
  if (found.failure.result === 'transient') return found
  return permanent('5.1.2', `${name} has neither an MX record nor an address`)
}

/**
 * The addresses of an MX host: IPv4 first, then IPv6 when `useIpv6`; at most `mxAddresses`, with both
 * families among them when the host has both. No address at all, said by DNS, is permanent.
 */
export async function findAddresses(dns: MxDns, host: string, useIpv6: boolean): Promise<AddressResult> {
  if (isIP(host))
    return permanent('5.4.4', `the MX record names the address ${host} where it must name a host`)
  const [ipv4, ipv6] = await Promise.all([
    addressesOf(() => dns.resolve4(host)),
    useIpv6 ? addressesOf(() => dns.resolve6(host)) : undefined,
  ])
  const four = typeof ipv4 === 'string' ? [] : ipv4
  const six = ipv6 === undefined || typeof ipv6 === 'string' ? [] : ipv6
  if (four.length + six.length > 0) {
    const reserved = six.length > 0 ? mxAddresses - 1 : mxAddresses
    return { addresses: [...four.slice(0, reserved), ...six].slice(0, mxAddresses) }
  }
  const failed = [ipv4, ipv6].find(answer => typeof answer === 'string')
  if (failed !== undefined) return dnsFailed(`the address of ${host}`, failed)
  if (ipv6 === undefined) {
    const elsewhere = await addressesOf(() => dns.resolve6(host))
    if (typeof elsewhere === 'string') return dnsFailed(`the address of ${host}`, elsewhere)
    // This machine may get IPv6 before the message expires, so it proves nothing about the recipient.
    if (elsewhere.length > 0)
      return transient('4.4.4', `${host} has no IPv4 address, and IPv6 is not in use here`)
  }
  return permanent('5.4.4', `the host ${host} has no address`)
}

/** Addresses, none of them when DNS says that there are none, or the code of the failure. */
async function addressesOf(ask: () => Promise<string[]>): Promise<string[] | string> {
  try {
    return await ask()
  } catch (error) {
    const code = codeOf(error)
    return code === 'ENOTFOUND' || code === 'ENODATA' || code === 'EBADNAME' ? [] : code
  }
}

/** The domain in the form that DNS knows: A-labels, lower case, no final dot; undefined for an address literal. */
function asDnsName(domain: string): string | undefined {
  const name = toAscii(domain).toLowerCase().replace(/\.$/, '')
  // What ends in digits alone is an IPv4 address in some notation, never a domain (RFC 3696 §2).
  if (name === '' || name.length > 253 || /[[\]\s:@]/.test(name) || /(^|\.)\d+$/.test(name)) return undefined
  return name
}

/** A domain with its U-labels as A-labels (RFC 5891 §4.4); empty when it has no such form. ASCII stays as it is. */
export function toAscii(domain: string): string {
  return /[^\x00-\x7f]/.test(domain) ? domainToASCII(domain) : domain
}

function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  throw error
}

function permanent(enhanced: string, text: string): { failure: DnsFailure } {
  return { failure: { result: 'permanent', enhanced, text } }
}

function transient(enhanced: string, text: string): { failure: DnsFailure } {
  return { failure: { result: 'transient', enhanced, text } }
}

function dnsFailed(what: string, code: string): Failed {
  return { ...transient('4.4.3', `DNS failed for ${what} (${code})`), isSilence: isSilence(code) }
}
