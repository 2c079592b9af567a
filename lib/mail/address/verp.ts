import { bounceDomain } from './bounce-domain.ts'
import { isRewritten } from './srs.ts'

/** 124 bits. */
export const verpTokenLength = 24

const tokenForm = /^[0-9a-z]{24}$/

/**
 * The reverse-path of one delivery of its own (VERP): what comes back to it speaks of that delivery, whatever it says.
 * @param token 24 characters of 0-9a-z that nobody can guess: to know them is the proof that the mail was got
 * @param domain the mail domain that it is sent for
 */
export function formatVerp(token: string, domain: string): string {
  if (!tokenForm.test(token)) throw new RangeError('a VERP token has 24 characters of 0-9a-z')
  return `b-${token}@${bounceDomain(domain)}`
}

/** Such a reverse-path, or that of a copy (srs.ts), in lower case, as it is stored: hosts on the way may have changed the case of its letters. */
export function parseVerp(address: string): string | undefined {
  const lower = address.toLowerCase()
  return /^b-[0-9a-z]{24}@bounce\./.test(lower) || isRewritten(lower) ? lower : undefined
}
