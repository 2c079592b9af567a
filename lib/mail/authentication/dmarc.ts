import type { DNSResolver } from 'mailauth'
import { tooLongCode } from '../../base/network.ts'
import type { Lookup } from '../signature/key.ts'
import { loadMailauth } from './mailauth.ts'
import { type AuthenticationResult, resultOf } from './results.ts'

/** What the domain in From asks for when a message is not from it; undefined when that is not known, or nothing is published. */
export type DmarcPolicy = 'none' | 'quarantine' | 'reject' | undefined

export interface DmarcResult {
  readonly result: AuthenticationResult
  readonly policy: DmarcPolicy
  /** What of `passing` is aligned as the domain's record asks (RFC 9989 §4.4); undefined where no record says how. */
  readonly aligned: Alignment | undefined
}

interface Alignment {
  readonly isSent: boolean
  /** The domains of signatures. */
  readonly dkim: ReadonlySet<string>
  /** Whether the record asks for the very same domain (aspf=s, adkim=s). */
  readonly isStrict: Readonly<Record<'spf' | 'dkim', boolean>>
}

/** Domains that SPF and DKIM speak of. */
export interface Identities {
  readonly spf: readonly string[]
  readonly dkim: readonly string[]
}

/**
 * A DMARC record is a tag-list as those of DKIM are (RFC 9989 §4.7): one in which a tag stands twice is none (RFC 6376 §3.2), and a domain has not
 * one policy here and another there, by which of them is read.
 */
export const recordForm = { strict: true } as const

/**
 * DMARC (RFC 9989) of a message from the domain. A failure counts only when nothing that could have passed is unknown;
 * what could not have made it pass, such as a stranger's key that could not be asked for, is left out of that.
 * @param unknown the domains whose SPF or DKIM is a temperror
 */
export async function checkDmarc(
  lookup: Lookup,
  fromDomain: string,
  passing: Identities,
  unknown: Identities,
): Promise<DmarcResult> {
  const found = await evaluate(lookup, fromDomain, passing)
  if (found.result !== 'fail' || unknown.spf.length + unknown.dkim.length === 0) return found
  const atBest = await evaluate(lookup, fromDomain, {
    spf: [...passing.spf, ...unknown.spf],
    dkim: [...passing.dkim, ...unknown.dkim],
  })
  return atBest.result === 'fail' ? found : { ...found, result: 'temperror' }
}

async function evaluate(lookup: Lookup, fromDomain: string, passing: Identities): Promise<DmarcResult> {
  const { evaluateDmarc } = await loadMailauth()
  let isTooLong = false
  const resolver: Lookup = async (name, type) => {
    try {
      return await lookup(name, type)
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === tooLongCode) isTooLong = true
      throw error
    }
  }
  const { response: checked, dkimAligned } = await evaluateDmarc({
    headerFrom: `postmaster@${fromDomain}`,
    fromFields: 1,
    spfDomains: [...passing.spf],
    dkimDomains: passing.dkim.map(domain => ({ domain })),
    resolver: resolver as DNSResolver,
    ...recordForm,
  })
  if (checked === false) return { result: 'permerror', policy: undefined, aligned: undefined }
  const result = resultOf(checked.status)
  // It says of every error that it is temporary; a later try finds no shorter answer.
  if (result === 'temperror' && isTooLong)
    return { result: 'permerror', policy: undefined, aligned: undefined }
  const aligned = dkimAligned && {
    isSent: checked.alignment?.spf?.result !== undefined,
    dkim: dkimAligned,
    isStrict: {
      spf: checked.alignment?.spf?.strict === true,
      dkim: checked.alignment?.dkim?.strict === true,
    },
  }
  return { result, policy: policyOf(checked.policy), aligned }
}

function policyOf(policy: unknown): DmarcPolicy {
  return policy === 'none' || policy === 'quarantine' || policy === 'reject' ? policy : undefined
}
