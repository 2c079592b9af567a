import type { DNSResolver } from 'mailauth'
import type { Lookup } from '../signature/key.ts'
import { recordForm } from './dmarc.ts'
import { loadMailauth } from './mailauth.ts'
import { type AuthenticationResult, resultOf } from './results.ts'

/**
 * What SPF (RFC 7208) says of mail from this address of ours in the name of `domain`, as a receiver would find it, and whether that is
 * because it asks for more than ten look-ups (§4.6.4).
 */
export async function evaluateSpf(
  lookup: Lookup,
  { domain, address, helo }: { domain: string; address: string; helo: string },
): Promise<{ readonly result: AuthenticationResult; readonly isTooLong: boolean }> {
  const { spf } = await loadMailauth()
  const resolver = lookup as DNSResolver
  const sender = `postmaster@${domain}`
  const { status } = await spf({ ip: address, helo, sender, mta: helo, resolver, strict: true })
  const result = resultOf(status)
  return { result, isTooLong: result === 'permerror' && /too many/i.test(status.comment ?? '') }
}

/** Whether a DMARC policy holds for the domain: its own or an inherited one (RFC 9989 §4.10.1); undefined: DNS does not say. */
export async function hasDmarcPolicy(lookup: Lookup, domain: string): Promise<boolean | undefined> {
  const { dmarc } = await loadMailauth()
  const headerFrom = `postmaster@${domain}`
  const checked = await dmarc({ headerFrom, resolver: lookup as DNSResolver, ...recordForm })
  const result = checked && resultOf(checked.status)
  if (result === 'temperror') return undefined
  return result !== false && result !== 'none'
}
