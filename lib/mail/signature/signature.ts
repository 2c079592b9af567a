import type { Canonicalisation } from '../compose/canonical.ts'
import { parseTags, type Tag, withoutSpace } from './tags.ts'

/** The three kinds of signature field: RFC 6376 §3.5, RFC 8617 §4.1.2 and §4.1.3. */
export type SignatureKind = 'dkim-signature' | 'arc-message-signature' | 'arc-seal'

/** A signature field that says all that is needed to check it. */
export interface Signature {
  readonly kind: SignatureKind
  readonly domain: string
  readonly selector: string
  readonly keyType: 'rsa' | 'ed25519'
  readonly signature: Buffer
  /** The field without the value of `b=`, which is how it signs itself. */
  readonly unsigned: string
  readonly headerForm: Canonicalisation
  readonly bodyForm: Canonicalisation
  /** How many canonical bytes of the body are signed (`l=`); undefined: all. */
  readonly bodyLength: number | undefined
  /** In base64. */
  readonly bodyHash: string
  /** The names of the signed fields, in lower case. */
  readonly names: readonly string[]
  /** The domain of `i=`; where it is not said, `d=`. */
  readonly identityDomain: string
  /** Unix seconds. */
  readonly expiresAt: number | undefined
  /** `i=` and `cv=` of ARC. */
  readonly instance: number
  readonly chain: string
}

/** A field that can't be checked at all, and who it says it is of, as far as that is a name. */
export interface UnreadableSignature {
  readonly fault: string
  /** What that is called (RFC 8601 §2.7.1): of a wrong form, without a field that it needs, or of a kind that is not believed. */
  readonly result: 'neutral' | 'permerror' | 'policy'
  readonly domain: string
  readonly selector: string
}

const fromIsUnsigned = 'From is not signed'
const base64 = /^[A-Za-z0-9+/]+={0,2}$/
const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/

/** Whether DNS can be asked for the name: A-labels of 1 to 63 characters, 253 in all (RFC 1035 §2.3.4). */
function isAskable(name: string): boolean {
  return name.length <= 253 && name.split('.').every(each => label.test(each))
}

/** The name that the key stands at (RFC 6376 §3.6.2.1). */
export function keyName({ selector, domain }: { selector: string; domain: string }): string {
  return `${selector}._domainkey.${domain}`
}

/** Reads a signature field. `field` is as it stands in the message (rawFields). */
export function readSignature(field: string, kind: SignatureKind): Signature | UnreadableSignature {
  const colon = field.indexOf(':')
  const tags = parseTags(field.slice(colon + 1))
  const value = (name: string) => tags?.get(name)?.value
  const domain = (value('d') ?? '').toLowerCase()
  const selector = (value('s') ?? '').toLowerCase()
  const name = keyName({ selector, domain })
  const isNamed = selector !== '' && domain.includes('.') && isAskable(name)
  const fail = (fault: string, result: UnreadableSignature['result'] = 'neutral') => ({
    fault,
    result,
    domain: isNamed || isAskable(domain) ? domain : '',
    selector: isNamed || isAskable(selector) ? selector : '',
  })
  if (!tags) return fail('not a list of tags')
  // What can't be asked for is wrong for good, and must not look like a DNS server that is down.
  if (!isNamed) return fail('not a name that DNS can be asked for')
  const keyType = /^(rsa|ed25519)-sha256$/i.exec(value('a') ?? '')?.[1]?.toLowerCase()
  if (keyType !== 'rsa' && keyType !== 'ed25519')
    return fail(
      'an algorithm that is not believed (RFC 8301)',
      value('a') === undefined ? 'neutral' : 'policy',
    )
  const signature = withoutSpace(value('b') ?? '')
  if (!base64.test(signature)) return fail('no signature')
  const instance = value('i') ?? ''
  if (kind !== 'dkim-signature' && !/^[1-9][0-9]?$/.test(instance)) return fail('no instance')
  const own = {
    kind,
    domain,
    selector,
    keyType,
    signature: Buffer.from(signature, 'base64'),
    unsigned: withoutValue(field, colon + 1, tags.get('b')!),
    instance: Number(instance) || 0,
    chain: (value('cv') ?? '').toLowerCase(),
  } as const
  if (kind === 'arc-seal') return readSeal(own, tags) ?? fail('h= or bh= in a seal')
  const content = readContent(tags, kind)
  if (typeof content === 'string') return fail(content, content === fromIsUnsigned ? 'permerror' : 'neutral')
  if (kind === 'arc-message-signature') return { ...own, ...content, identityDomain: domain }
  const identityDomain = identityOf(value('i'), domain)
  if (value('v') !== '1') return fail('not version 1')
  if (identityDomain === undefined) return fail('i= is not of d=')
  return { ...own, ...content, identityDomain }
}

type Own = Pick<
  Signature,
  'kind' | 'domain' | 'selector' | 'keyType' | 'signature' | 'unsigned' | 'instance' | 'chain'
>
type SignedContent = Pick<
  Signature,
  'headerForm' | 'bodyForm' | 'bodyLength' | 'bodyHash' | 'names' | 'expiresAt'
>

/** RFC 8617 §4.1.3: a seal signs the ARC fields, and neither others nor the body. */
function readSeal(own: Own, tags: ReadonlyMap<string, Tag>): Signature | undefined {
  if (tags.has('h') || tags.has('bh')) return undefined
  return {
    ...own,
    headerForm: 'relaxed',
    bodyForm: 'relaxed',
    bodyLength: 0,
    bodyHash: '',
    names: [],
    identityDomain: own.domain,
    expiresAt: undefined,
  }
}

function readContent(tags: ReadonlyMap<string, Tag>, kind: SignatureKind): SignedContent | string {
  const value = (name: string) => tags.get(name)?.value
  const bodyHash = withoutSpace(value('bh') ?? '')
  if (!base64.test(bodyHash)) return 'no body hash'
  const forms = /^(simple|relaxed)(?:\/(simple|relaxed))?$/i.exec(value('c') ?? 'simple/simple')
  if (!forms) return 'an unknown canonicalisation'
  const names = withoutSpace(value('h') ?? '')
    .toLowerCase()
    .split(':')
  if (!names.includes('from')) return fromIsUnsigned
  // RFC 8617 §4.1.2.
  if (kind === 'arc-message-signature' && names.includes('arc-seal')) return 'a seal is signed'
  const query = value('q')
  if (query !== undefined && !withoutSpace(query).toLowerCase().split(':').includes('dns/txt')) {
    return 'an unknown way to ask for the key'
  }
  const numbers = { l: value('l'), t: value('t'), x: value('x') }
  for (const text of Object.values(numbers)) {
    if (text !== undefined && !/^[0-9]{1,76}$/.test(text)) return 'l=, t= or x= is no number'
  }
  const { l, t, x } = numbers
  if (t !== undefined && x !== undefined && Number(x) <= Number(t)) return 'it ends before it begins'
  return {
    headerForm: forms[1]!.toLowerCase() === 'relaxed' ? 'relaxed' : 'simple',
    bodyForm: (forms[2] ?? 'simple').toLowerCase() === 'relaxed' ? 'relaxed' : 'simple',
    bodyLength: l === undefined ? undefined : Number(l),
    bodyHash,
    names,
    expiresAt: x === undefined ? undefined : Number(x),
  }
}

/** RFC 6376 §3.5: the domain of `i=` is that of `d=` or below it. */
function identityOf(identity: string | undefined, domain: string): string | undefined {
  if (identity === undefined) return domain
  const at = identity.lastIndexOf('@')
  const of = identity.slice(at + 1).toLowerCase()
  return at >= 0 && (of === domain || of.endsWith(`.${domain}`)) ? of : undefined
}

function withoutValue(field: string, offset: number, { start, end }: Tag): string {
  return field.slice(0, offset + start) + field.slice(offset + end)
}
