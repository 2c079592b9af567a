import { Problem } from '../../base/problem.ts'
import { normaliseDomain } from '../../mail/address/address.ts'
import { isRegistrable } from '../../mail/domain/registrable.ts'
import { selector } from './usable.ts'

/** RFC 1035 §3.1, less what stands before the domain in the longest of its names. */
const longestDomain = 253 - `${selector}-202601020304e._domainkey.`.length

/** A domain that can be added, lower-case in A-labels. @param hostname the server's own @throws Problem `unregistrable_domain` */
export function requireRegistrable(text: string, hostname: string): string {
  const refusal = (message?: string) => new Problem('unregistrable_domain', message)
  if (text.includes('@')) throw refusal('This is an address. Give the domain alone, what stands after the @.')
  const domain = normaliseDomain(text)
  if (domain === undefined || domain.length > longestDomain) throw refusal()
  if (!isRegistrable(domain)) {
    throw refusal(`${domain} is nobody's own: names are registered below it. Give one of those.`)
  }
  if (domain === hostname.toLowerCase()) throw refusal("This is the server's own name.")
  const parent = domain.slice(domain.indexOf('.') + 1)
  if (domain.startsWith('bounce.') && isRegistrable(parent)) {
    throw refusal(`This is where bounces to ${parent} come. Give another name.`)
  }
  return domain
}
