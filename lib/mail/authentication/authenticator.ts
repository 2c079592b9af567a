import type { Readable } from 'node:stream'
import type { DNSResolver } from 'mailauth'
import type { Dns } from '../../base/network.ts'
import type { Clock } from '../../base/time.ts'
import { domainOf } from '../address/address.ts'
import type { Author } from '../header/author.ts'
import type { Mailbox } from '../header/mailbox.ts'
import { type ArcChain, type ArcResult, checkArc, readArcChain } from '../signature/arc.ts'
import type { Lookup } from '../signature/key.ts'
import { type HashedMessage, hashMessage } from '../signature/message.ts'
import { checkDkim, readDkimSignatures } from './dkim.ts'
import { checkDmarc, type DmarcPolicy } from './dmarc.ts'
import { createDnsCache } from './dns-cache.ts'
import { saysProven } from './excuse.ts'
import { loadMailauth } from './mailauth.ts'
import {
  type AuthenticationResult,
  authenticationResults,
  bestOf,
  type CheckedSignature,
  resultOf,
} from './results.ts'

/**
 * What SPF, the DKIM signatures, ARC and DMARC of one message may take, each for itself: a stranger's slow DNS must not
 * use up the time of the From domain's. What is not known by then is a temperror.
 */
const authenticationMs = 15_000

export interface AuthenticationInput {
  /** Its header within headerBytes and headerLines (findHeaderFault). */
  readonly raw: Buffer | Readable
  /** Who wrote it, as it will be shown: From is not read a second time here. */
  readonly author: Author
  readonly remoteAddress: string
  readonly helo: string
  /** The reverse-path; empty for the null one, where SPF looks at HELO instead (RFC 7208 §2.4). */
  readonly mailFrom: string
}

export interface AuthenticatedMessage {
  /** The mailbox that was judged; undefined when it is not sure who wrote. All below is true of no other. */
  readonly judged: Mailbox | undefined
  readonly spf: AuthenticationResult
  /** That of the signature that counts. */
  readonly dkim: AuthenticationResult
  /** `none` without a policy of the From domain, `permerror` when it is not sure who wrote (RFC 9989 §5.3.1). */
  readonly dmarc: AuthenticationResult
  /** What the From domain asks for when DMARC fails. */
  readonly policy: DmarcPolicy
  readonly arc: 'none' | 'pass' | 'fail'
  /** Whether the From domain is proven: DMARC passes or, where the domain has no policy, an aligned SPF or DKIM does. */
  readonly aligned: boolean
  /** Whether its own domain says by SPF (`-all`) that it is not from it, has no DMARC policy, and no aligned signature says otherwise. */
  readonly isDenied: boolean
  /**
   * Whether aligned DKIM alone proves the From domain, and does not sign Reply-To: whoever has a message of that domain
   * may have added one (RFC 6376 §8.15).
   */
  readonly isReplyToDoubtful: boolean
  /** Whether a valid ARC chain of a trusted sealer says that it was proven when it came there. It is not proven for that. */
  readonly isExcused: boolean
  /** Whether DNS did not say what decides: the same message may be judged otherwise later. */
  readonly isUnknown: boolean
  readonly signatures: readonly CheckedSignature[]
  readonly spfDomain: string
  /** The value of an Authentication-Results field (RFC 8601 §2.2), folded. */
  readonly header: string
}

export interface Authenticator {
  /**
   * Checks one message. What can't be found out in authenticationMs is a temperror. DNS is remembered for all messages, but
   * none fails or stays unproven by what it said before: then it is asked anew, once.
   * @throws what reading the raw throws
   */
  authenticate(input: AuthenticationInput): Promise<AuthenticatedMessage>
}

/**
 * All messages share one memory of DNS answers.
 * @param options.mta our own name
 * @param options.trustedSealers the domains, in A-labels, whose ARC sets are believed
 */
export function createAuthenticator(options: {
  dns: Pick<Dns, 'resolve'>
  clock: Clock
  mta: string
  trustedSealers: readonly string[]
}): Authenticator {
  const { mta, clock } = options
  const trustedSealers = options.trustedSealers.map(domain => domain.toLowerCase())
  const remembered = createDnsCache(options)
  const asked: Lookup = (name, type) => remembered(name, type, true)

  /** What DNS makes of a message. */
  async function judge(
    { author, remoteAddress, helo, mailFrom }: Omit<AuthenticationInput, 'raw'>,
    reading: Promise<SignedMessage>,
    lookup: Lookup,
  ): Promise<Judged> {
    const { spf: checkSpf, getAlignment } = await loadMailauth()
    const judged = 'mailbox' in author ? author.mailbox : undefined
    const fromDomain = judged && domainOf(judged.address)
    const isNear = (domain: string) =>
      fromDomain !== undefined && domain !== '' && Boolean(getAlignment(fromDomain, [domain]))
    const spfDomain = (mailFrom === '' ? helo : domainOf(mailFrom)).toLowerCase()
    // RFC 7208 §4.3; its type knows of strings alone, and of MX mailauth takes the objects of node:dns.
    const spfOptions = { ip: remoteAddress, helo, sender: mailFrom, mta, strict: true }
    const [spfResult, { signatures: checked, signingReplyTo, arc }] = await Promise.all([
      within(checkSpf({ ...spfOptions, resolver: lookup as DNSResolver })),
      reading.then(message => checkSignatures(message, lookup, clock.now())),
    ])
    const spf = spfResult ? resultOf(spfResult.status) : 'temperror'
    const identities = (result: AuthenticationResult) => ({
      spf: spf === result ? [spfDomain] : [],
      dkim: checked.filter(each => each.result === result).map(each => each.domain),
    })
    const unjudged = { policy: undefined, aligned: undefined }
    const {
      result: dmarc,
      policy,
      aligned,
    } = fromDomain === undefined
      ? { ...unjudged, result: 'permerror' as const }
      : ((await within(checkDmarc(lookup, fromDomain, identities('pass'), identities('temperror')))) ?? {
          ...unjudged,
          result: 'temperror' as const,
        })
    // As the record asks, also for results that DMARC does not look at.
    const isAligned = (method: 'spf' | 'dkim', domain: string) =>
      aligned?.isStrict[method] ? domain === fromDomain : isNear(domain)
    const signs = (domain: string) => (aligned ? aligned.dkim.has(domain) : isAligned('dkim', domain))
    const signatures = checked.map(each => ({
      ...each,
      isAligned: each.result === 'pass' ? signs(each.domain) : isAligned('dkim', each.domain),
    }))
    const isSent = aligned ? aligned.isSent : spf === 'pass' && isAligned('spf', spfDomain)
    const isSigned = signatures.some(each => each.result === 'pass' && each.isAligned)
    const isProven = isSent || isSigned
    const isDenied = dmarc === 'none' && !isProven && spf === 'fail' && isAligned('spf', spfDomain)
    const isTrusted = (dmarc === 'fail' || isDenied) && trustedSealers.includes(arc.sealer)
    // A signature of its own may be right all the same.
    const isDeniedInDoubt = isDenied && signatures.some(each => each.result === 'temperror' && each.isAligned)
    const isOwn = isAligned('spf', spfDomain) || signatures.some(each => each.isAligned)
    const judgement = {
      judged,
      spf,
      dkim: bestOf(signatures),
      dmarc,
      policy,
      arc: arc.result,
      isDenied,
      isReplyToDoubtful: isSigned && !isSent && !signingReplyTo.some(signs),
      aligned: dmarc === 'pass' || (dmarc === 'none' && isProven),
      isExcused: isTrusted && arc.result === 'pass' && saysProven(arc.found, fromDomain ?? '', isAligned),
      isUnknown: dmarc === 'temperror' || isDeniedInDoubt || (isTrusted && arc.isUnknown),
      signatures,
      spfDomain,
      header: authenticationResults(mta, {
        spf,
        spfIdentity: mailFrom === '' ? 'helo' : 'mailfrom',
        spfDomain,
        signatures,
        dmarc,
        fromDomain: fromDomain ?? '',
        arc: arc.result,
        remoteAddress,
      }),
    }
    return { judgement, mayChange: dmarc === 'fail' || (dmarc === 'none' && !isProven && isOwn) }
  }

  return {
    async authenticate({ raw, ...input }) {
      const reading = hashSignatures(raw)
      // Who waits for it looks at what went wrong.
      reading.catch(() => {})
      const { judgement, mayChange } = await judge(input, reading, remembered)
      return mayChange ? (await judge(input, reading, asked)).judgement : judgement
    },
  }
}

interface Judged {
  readonly judgement: AuthenticatedMessage
  /** Whether it fails, or lacks the proof of its From domain (which allow rules ask for), by what somebody may have published meanwhile. */
  readonly mayChange: boolean
}

/** The DKIM signatures and the ARC chain of a message, and the hashes that they are about. */
interface SignedMessage {
  readonly chain: ArcChain
  readonly read: ReturnType<typeof readDkimSignatures>
  readonly message: HashedMessage
}

/** Reads the message, once. */
async function hashSignatures(raw: Buffer | Readable): Promise<SignedMessage> {
  let found = { chain: readArcChain([]), read: readDkimSignatures([]) }
  const message = await hashMessage(raw, fields => {
    found = { chain: readArcChain(fields), read: readDkimSignatures(fields) }
    const newest = found.chain === 'fail' ? undefined : found.chain.at(-1)?.messageSignature
    const signatures = found.read.flatMap(each => ('fault' in each ? [] : [each]))
    return newest ? [newest, ...signatures] : signatures
  })
  return { ...found, message }
}

async function checkSignatures(
  { chain, read, message }: SignedMessage,
  lookup: Lookup,
  now: Date,
): Promise<{ signatures: Omit<CheckedSignature, 'isAligned'>[]; signingReplyTo: string[]; arc: ArcResult }> {
  const [signatures, arc] = await Promise.all([
    Promise.all(
      read.map(async signature => {
        const { domain, selector } = signature
        const checked = await within(checkDkim(signature, { ...message, now }, lookup))
        const result = checked?.result ?? 'temperror'
        return { domain, selector, result } as const
      }),
    ),
    within(checkArc(chain, message, lookup)),
  ])
  // Of several the last is signed, and read (lib/mail/header/fields.ts).
  const signingReplyTo = read
    .filter(
      (each, index) =>
        'names' in each && each.names.includes('reply-to') && signatures[index]?.result === 'pass',
    )
    .map(({ domain }) => domain)
  return {
    signatures,
    signingReplyTo,
    arc: arc ?? { result: 'fail', sealer: '', found: '', isUnknown: true },
  }
}

/** Gives undefined for what fails, or is not there after authenticationMs. */
async function within<T>(work: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), authenticationMs)
  try {
    return await Promise.race([work, late])
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
  }
}
