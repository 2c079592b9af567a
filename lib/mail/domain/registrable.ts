import { getDomain } from 'tldts'

/** Whether a domain (lower-case, A-label) is one that somebody can register, or below one: not a public suffix. */
export function isRegistrable(domain: string): boolean {
  // With the list's private part: what stands at github.io is one owner's, github.io itself is everyone's.
  return getDomain(domain, { allowPrivateDomains: true }) !== null
}
