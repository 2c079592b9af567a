import { base32, hmacBase32 } from '../../base/secrets.ts'
import { bounceDomain } from './bounce-domain.ts'

/** RFC 5321 §4.5.3.1.1 */
const localPartLength = 64
/** 50 bits: what is written to it is counted, so nobody may guess it. */
const hashLength = 10
/** Of an address that tells nothing but its hash. */
const opaqueLength = 32

/** Characters that no host on the way quotes or takes for a route, which `%` and `!` once were. */
const plain = /^[a-z0-9_+=-]+(?:\.[a-z0-9_+=-]+)*$/

export interface Rewriting {
  /** The key of the hash. */
  readonly secret: string
  /** What the address is made for besides its sender: another delivery has another one. */
  readonly purpose: string
  /** The reverse-path that the message came with; not the null one. */
  readonly sender: string
  /** The mail domain that passes the message on. */
  readonly domain: string
  readonly at: Date
}

/**
 * The reverse-path of a message that is passed on, by the Sender Rewriting Scheme: SPF asks the domain that passes it
 * on, and what comes back comes back there. `SRS0=<hash>=<day>=<domain>=<local part>` in lower case, because hosts on
 * the way may change the case of letters; without the sender in it where that is too long or needs quotes. It is
 * known again by being looked up, and never turned back: its bounces are not passed on to the sender, who did not write
 * to that address.
 */
export function rewriteSender({ secret, purpose, sender, domain, at }: Rewriting): string {
  const day = dayOf(at)
  const lower = sender.toLowerCase()
  const split = lower.lastIndexOf('@')
  const senderDomain = lower.slice(split + 1)
  const hashed = `srs\n${purpose}\n${day}\n${lower}`
  const hash = hmacBase32(secret, hashed, hashLength)
  const told = `srs0=${hash}=${day}=${senderDomain}=${lower.slice(0, Math.max(split, 0))}`
  const isTold = split > 0 && plain.test(told) && told.length <= localPartLength
  const localPart = isTold ? told : `srs0=${hmacBase32(secret, hashed, opaqueLength)}=${day}`
  return `${localPart}@${bounceDomain(domain)}`
}

/** Whether it is such an address, however its letters were changed. */
export function isRewritten(address: string): boolean {
  return /^srs0=[^@]+@bounce\./i.test(address)
}

/** The day since 1970, of which two digits of base32 are kept. */
function dayOf(at: Date): string {
  const days = Math.floor(at.getTime() / 86_400_000)
  return `${base32[(days >> 5) & 31]}${base32[days & 31]}`
}
