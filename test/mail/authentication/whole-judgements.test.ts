import { generateKeyPairSync, hash, sign } from 'node:crypto'
import t from 'tap'
import { tooLongCode } from '../../../lib/base/network.ts'
import { testAuthenticator } from '../../support/authenticator.ts'
import { choicesOf } from '../../support/choices.ts'
import { zoneDns } from '../domain/zone-dns.ts'

const own = 'from.example'
const below = 'mail.from.example'
const other = 'other.example'
const sealer = 'sealer.example'
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const record = `v=DKIM1; k=ed25519; p=${publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')}`

/** RFC 8463 §3, over a text that is canonical already. */
const signed = (text: string) => sign(null, hash('sha256', text, 'buffer'), privateKey).toString('base64')
const bh = hash('sha256', 'hi\r\n', 'base64')
const bhOfPart = hash('sha256', 'h', 'base64')

const dkimKinds = {
  pass: { result: 'pass' },
  'pass with Reply-To': { result: 'pass', names: 'from:reply-to' },
  fail: { result: 'fail', signature: 'AAAA' },
  temperror: { result: 'temperror', selector: 'late' },
  permerror: { result: 'permerror', selector: 'gone' },
  'of a part': { result: 'policy', more: ` l=1;`, bh: bhOfPart },
  'rsa-sha1': { result: 'policy', algorithm: 'rsa-sha1' },
  neutral: { result: 'neutral', version: '2' },
} as const satisfies Record<string, DkimKind>

interface DkimKind {
  readonly result: string
  readonly names?: string
  readonly selector?: string
  readonly signature?: string
  readonly more?: string
  readonly bh?: string
  readonly algorithm?: string
  readonly version?: string
}

function dkimField(author: string, domain: string, kind: DkimKind): string {
  const { names = 'from', selector = 's1', more = '', version = '1', algorithm = 'ed25519-sha256' } = kind
  const open = `DKIM-Signature: v=${version}; a=${algorithm}; c=relaxed/relaxed; d=${domain}; s=${selector}; h=${names};${more} bh=${kind.bh ?? bh}; b=`
  const reply = names.includes('reply-to') ? 'reply-to:eve@reply.example\r\n' : ''
  const text = `from:${author}\r\n${reply}${open.replace('DKIM-Signature: ', 'dkim-signature:')}`
  return `${open}${kind.signature ?? signed(text)}\r\n`
}

const arcKinds = {
  none: undefined,
  'says pass': { by: sealer, found: `dmarc=pass header.from=AUTHOR`, result: 'pass' },
  'says fail': { by: sealer, found: `dmarc=fail header.from=AUTHOR`, result: 'pass' },
  'says fail and DKIM': { by: sealer, found: `dmarc=fail; dkim=pass header.d=AUTHOR`, result: 'pass' },
  'says DKIM': { by: sealer, found: `spf=fail; dkim=pass header.d=AUTHOR`, result: 'pass' },
  'says DKIM below': { by: sealer, found: `dkim=pass header.d=below.AUTHOR`, result: 'pass' },
  'says SPF below': { by: sealer, found: `spf=pass smtp.mailfrom=below.AUTHOR`, result: 'pass' },
  'of a stranger': { by: 'stranger.example', found: `dmarc=pass header.from=AUTHOR`, result: 'pass' },
  unknown: { by: sealer, found: `dmarc=pass header.from=AUTHOR`, selector: 'late', result: 'fail' },
  broken: { by: sealer, found: `dmarc=pass header.from=AUTHOR`, seal: 'AAAA', result: 'fail' },
} as const satisfies Record<string, ArcKind | undefined>

interface ArcKind {
  readonly by: string
  readonly found: string
  readonly result: 'pass' | 'fail'
  readonly selector?: string
  readonly seal?: string
}

function arcFields(author: string, domain: string, kind: ArcKind | undefined): string {
  if (!kind) return ''
  const who = `i=1; a=ed25519-sha256; d=${kind.by}; s=${kind.selector ?? 's1'};`
  const results = `i=1; mx.${kind.by}; ${kind.found.replace('AUTHOR', domain)}`
  const open = `${who} c=relaxed/relaxed; h=from; bh=${bh}; b=`
  const message = `${open}${signed(`from:${author}\r\narc-message-signature:${open}`)}`
  const openSeal = `${who} cv=none; b=`
  const text = `arc-authentication-results:${results}\r\narc-message-signature:${message}\r\narc-seal:${openSeal}`
  return [
    `ARC-Seal: ${openSeal}${kind.seal ?? signed(text)}`,
    `ARC-Message-Signature: ${message}`,
    `ARC-Authentication-Results: ${results}`,
    '',
  ].join('\r\n')
}

const spfRecords = {
  pass: 'v=spf1 ip4:192.0.2.1 -all',
  fail: 'v=spf1 -all',
  softfail: 'v=spf1 ~all',
  neutral: 'v=spf1 ?all',
  permerror: 'v=spf1 nonsense:x',
  none: undefined,
  temperror: 'TIMEOUT',
} as const

interface Policy {
  readonly p: 'none' | 'quarantine' | 'reject'
  readonly sp?: 'none' | 'quarantine' | 'reject'
  readonly isSpfStrict?: true
  readonly isDkimStrict?: true
}
const policies: readonly (Policy | 'none' | 'temperror' | 'permerror')[] = [
  'none',
  'none',
  'none',
  'temperror',
  'permerror',
  { p: 'none' },
  { p: 'quarantine' },
  { p: 'reject' },
  { p: 'reject', sp: 'none' },
  { p: 'none', sp: 'reject' },
  { p: 'reject', isSpfStrict: true },
  { p: 'quarantine', isDkimStrict: true },
  { p: 'reject', isSpfStrict: true, isDkimStrict: true },
]

const policyText = ({ p, sp, isSpfStrict, isDkimStrict }: Policy) =>
  [`v=DMARC1; p=${p}`, sp && `sp=${sp}`, isSpfStrict && 'aspf=s', isDkimStrict && 'adkim=s']
    .filter(Boolean)
    .join('; ')

interface Case {
  readonly author: string | undefined
  readonly spf: keyof typeof spfRecords
  readonly spfDomain: string
  readonly isHelo: boolean
  readonly dkim: readonly { readonly domain: string; readonly kind: keyof typeof dkimKinds }[]
  readonly policy: (typeof policies)[number]
  readonly arc: keyof typeof arcKinds
}

/** What must come of it by RFC 9989, RFC 8601 and docs, said once more. */
function wanted({ author, spf, spfDomain, isHelo, dkim, policy, arc }: Case) {
  const isNear = (domain: string) => author !== undefined && domain !== other
  const record = typeof policy === 'object' ? policy : undefined
  const matches = (domain: string, isStrict: boolean | undefined) =>
    isStrict ? domain === author : isNear(domain)
  const results = dkim.map(({ domain, kind }) => ({ domain, kind, result: dkimKinds[kind].result as string }))
  const isSpf = (result: string) => spf === result && matches(spfDomain, record?.isSpfStrict)
  const signing = (result: string) =>
    results.filter(each => each.result === result && matches(each.domain, record?.isDkimStrict))
  const isProven = isSpf('pass') || signing('pass').length > 0
  const isDoubtful = isSpf('temperror') || signing('temperror').length > 0
  const ofRecord = isProven ? 'pass' : isDoubtful ? 'temperror' : 'fail'
  const dmarc = author === undefined ? 'permerror' : record ? ofRecord : (policy as string)
  const isDenied = dmarc === 'none' && !isProven && isSpf('fail')
  const isTrusted = (dmarc === 'fail' || isDenied) && arcKinds[arc]?.by === sealer
  const order = ['pass', 'temperror', 'fail', 'policy', 'permerror', 'neutral', 'none']
  return {
    judged: author === undefined ? undefined : { address: `ann@${author}`, name: undefined },
    spf,
    dkim: order.find(result => result === 'none' || results.some(each => each.result === result)),
    dmarc,
    policy: author && record ? (author === own ? record.p : (record.sp ?? record.p)) : undefined,
    arc: arcKinds[arc]?.result ?? 'none',
    isDenied,
    isReplyToDoubtful:
      !isSpf('pass') &&
      signing('pass').length > 0 &&
      !signing('pass').some(each => each.kind === 'pass with Reply-To'),
    aligned: dmarc === 'pass' || (dmarc === 'none' && isProven),
    isExcused:
      isTrusted &&
      (['says pass', 'says fail and DKIM', 'says DKIM'].includes(arc) ||
        (arc === 'says DKIM below' && !record?.isDkimStrict) ||
        (arc === 'says SPF below' && !record?.isSpfStrict)),
    isUnknown:
      dmarc === 'temperror' ||
      (isDenied && signing('temperror').length > 0) ||
      (isTrusted && arc === 'unknown'),
    signatures: results.map(({ domain, kind, result }) => ({
      domain,
      selector: 'selector' in dkimKinds[kind] ? dkimKinds[kind].selector : 's1',
      result,
      isAligned: author !== undefined && matches(domain, record?.isDkimStrict),
    })),
    spfDomain,
    header: [
      'mx.example.org',
      ...(dkim.length === 0 ? ['dkim=none'] : []),
      ...results.map(({ domain, kind, result }) => {
        const selector = 'selector' in dkimKinds[kind] ? dkimKinds[kind].selector : 's1'
        return `dkim=${result} header.d=${domain} header.s=${selector}`
      }),
      `spf=${spf} smtp.${isHelo ? 'helo' : 'mailfrom'}=${spfDomain}`,
      `dmarc=${dmarc}${author === undefined ? '' : ` header.from=${author}`}`,
      `arc=${arcKinds[arc]?.result ?? 'none'} smtp.remote-ip="192.0.2.1"`,
    ].join(';\r\n\t'),
  }
}

async function found({ author, spf, spfDomain, isHelo, dkim, policy, arc }: Case) {
  const from = author === undefined ? 'nobody' : `ann@${author}`
  const raw = [
    arcFields(from, author ?? own, arcKinds[arc]),
    ...dkim.map(({ domain, kind }) => dkimField(from, domain, dkimKinds[kind])),
    `From: ${from}\r\nReply-To: eve@reply.example\r\n\r\nhi\r\n`,
  ].join('')
  const spfRecord = spfRecords[spf]
  const dns = zoneDns({
    [spfDomain]: spfRecord === undefined ? [] : [spfRecord === 'TIMEOUT' ? spfRecord : { TXT: spfRecord }],
    ...Object.fromEntries(
      [own, below, other, sealer, 'stranger.example'].flatMap(domain => [
        [`s1._domainkey.${domain}`, [{ TXT: record }]],
        [`late._domainkey.${domain}`, ['TIMEOUT']],
      ]),
    ),
    [`_dmarc.${own}`]:
      policy === 'temperror' ? ['TIMEOUT'] : typeof policy === 'object' ? [{ TXT: policyText(policy) }] : [],
  })
  const resolve = async (name: string, type: string) => {
    if (policy === 'permerror' && name === `_dmarc.${own}`)
      throw Object.assign(new Error('too long'), { code: tooLongCode })
    return dns.resolve(name, type)
  }
  const { authenticate } = testAuthenticator({ ...dns, resolve }, [sealer.toUpperCase()])
  return authenticate({
    raw: Buffer.from(raw),
    remoteAddress: '192.0.2.1',
    helo: isHelo ? spfDomain : 'mx.example.com',
    mailFrom: isHelo ? '' : `bounce@${spfDomain}`,
  })
}

t.test('what is found of a message by each kind of proof, policy and chain', async t => {
  const { one: choose } = choicesOf(20261126)
  const domains = [own, below, other]
  const kindsOf = <T extends object>(of: T) => Object.keys(of) as (keyof T)[]
  for (let i = 0; i < 600; i++) {
    const each: Case = {
      author: choose([own, own, own, below, below, undefined]),
      // Mostly what does not pass, for most else is of no account then.
      spf: choose(['fail', 'fail', ...kindsOf(spfRecords)]),
      spfDomain: choose(domains),
      isHelo: choose([false, false, true]),
      dkim: Array.from({ length: choose([0, 1, 1, 2, 3]) }, () => ({
        domain: choose(domains),
        kind: choose(kindsOf(dkimKinds)),
      })),
      policy: choose(policies),
      arc: choose(kindsOf(arcKinds)),
    }
    const { judged, ...rest } = await found(each)
    const all = { judged: judged && { ...judged, name: judged.name || undefined }, ...rest }
    t.strictSame(all, wanted(each), JSON.stringify(each).replace(/[{}"#]/g, ' '))
  }
})
