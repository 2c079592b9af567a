import { randomBase36 } from '../base/secret.ts'
import { domainOf } from '../mail/address.ts'
import { formatVerp, verpTokenLength } from '../mail/verp.ts'

/**
 * A reverse-path for one delivery of mail from this address: what comes back to it speaks of that delivery, and nobody
 * else can have known it.
 */
export function newReversePath(address: string): string {
  return formatVerp(randomBase36(verpTokenLength), domainOf(address))
}
