import { createPublicKey, generateKeyPairSync, hash, KeyObject, sign } from 'node:crypto'
import { Readable } from 'node:stream'
import t from 'tap'
import { tooLongCode } from '../../../lib/base/network.ts'
import { checkDkim, readDkimSignatures } from '../../../lib/mail/authentication/dkim.ts'
import { headerBytes } from '../../../lib/mail/header/header.ts'
import { arcSets, checkArc, readArcChain } from '../../../lib/mail/signature/arc.ts'
import { sealArc, sealedPart } from '../../../lib/mail/signature/arc-seal.ts'
import { type BodyPart, dkimSmallBytes } from '../../../lib/mail/signature/body-hash.ts'
import {
  dkimKeyBits,
  dkimKeyBitsMin,
  dkimRecordLength,
  findKey,
  type Lookup,
} from '../../../lib/mail/signature/key.ts'
import { hashMessage } from '../../../lib/mail/signature/message.ts'
import { readSignature, type Signature } from '../../../lib/mail/signature/signature.ts'
import { choicesOf } from '../../support/choices.ts'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const own = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
const ownRecord = `v=DKIM1; k=ed25519; p=${own.toString('base64')}`

/** RFC 8463 §3, over a text that is canonical already. */
const signed = (text: string) => sign(null, hash('sha256', text, 'buffer'), privateKey).toString('base64')

function failing(code: string): Lookup {
  return () => Promise.reject(Object.assign(new Error(code), { code }))
}

function signatureOf(tags: string): Signature {
  const read = readSignature(
    `DKIM-Signature: v=1; d=a.example; s=s1; h=from; bh=AAAA; b=AAAA; ${tags}`,
    'dkim-signature',
  )
  if ('fault' in read) throw new Error(read.fault)
  return read
}

/** An RSA key of so many bits; to be read it need not be the product of two primes. */
function rsa(bits: number, e = 'AQAB', type: 'spki' | 'pkcs1' = 'spki'): string {
  const n = Buffer.alloc(Math.ceil(bits / 8), 0xff)
  n[0] = 0xff >> ((8 - (bits % 8)) % 8)
  return createPublicKey({ key: { kty: 'RSA', n: n.toString('base64url'), e }, format: 'jwk' })
    .export({ format: 'der', type })
    .toString('base64')
}

t.test('keys as DNS has them', async t => {
  const ed25519 = signatureOf('a=ed25519-sha256; i=@b.a.example')
  const plain = signatureOf('a=rsa-sha256')
  const found = async (lookup: Lookup, of: Signature) => {
    const key = await findKey(lookup, of)
    return key instanceof KeyObject
      ? `${key.asymmetricKeyType} ${key.asymmetricKeyDetails?.modulusLength ?? ''}`.trim()
      : key
  }
  const asked: string[] = []
  await findKey(async (...of) => [asked.push(of.join(' '))], plain)
  t.strictSame(asked, ['s1._domainkey.a.example TXT'])

  for (const code of ['ENOTFOUND', 'ENODATA', tooLongCode])
    t.equal(await found(failing(code), plain), 'permerror', code)
  for (const code of ['ESERVFAIL', 'ETIMEOUT', 'EREFUSED', 'EBADNAME'])
    t.equal(await found(failing(code), plain), 'temperror', code)
  t.equal(await found(() => Promise.reject(new Error('no code')), plain), 'temperror')
  t.equal(await found(() => Promise.reject('nothing'), plain), 'temperror')

  const p = own.toString('base64')
  for (const [record, isFound] of [
    [`p=${p};k=ed25519`, true],
    [`k=ED25519;p=${p}`, true],
    [`v=DKIM1;k=ed25519;p=${p.slice(0, 9)}\r\n\t ${p.slice(9)}`, true],
    [`k=ed25519;h=SHA256;p=${p}`, true],
    [`k=ed25519;h=sha1 : sha256;p=${p}`, true],
    [`k=ed25519;h=sha1;p=${p}`, false],
    [`k=ed25519;h=;p=${p}`, false],
    [`k=ed25519;h=sha2567;p=${p}`, false],
    [`k=ed25519;s=*;p=${p}`, true],
    [`k=ed25519;s=EMAIL;p=${p}`, true],
    [`k=ed25519;s=other : email;p=${p}`, true],
    [`k=ed25519;s=other:*;p=${p}`, true],
    [`k=ed25519;s=other;p=${p}`, false],
    [`k=ed25519;s=;p=${p}`, false],
    [`k=ed25519;t=y;p=${p}`, true],
    [`k=ed25519;t=;p=${p}`, true],
    // The signature is of a domain below.
    [`k=ed25519;t=s;p=${p}`, false],
    [`k=ed25519;t=y : S;p=${p}`, false],
    [`v=DKIM1;p=${p}`, false],
    [`k=ed25519;v=DKIM1;p=${p}`, false],
    [`v=dkim1;k=ed25519;p=${p}`, false],
    [`V=DKIM2;k=ed25519;p=${p}`, true],
    [`k=;p=${p}`, false],
    [`k=rsa;p=${p}`, false],
    [`k=ed25519;p=`, false],
    [`k=ed25519;p= `, false],
    [`k=ed25519;p=====`, false],
    ['k=ed25519', false],
    [`k=ed25519;p=${Buffer.concat([own, own.subarray(0, 1)]).toString('base64')}`, false],
    [`k=ed25519;p=${own.subarray(1).toString('base64')}`, false],
    [`k=ed25519;p=${publicKey.export({ format: 'der', type: 'spki' }).toString('base64')}`, false],
    [`k=ed25519;p=${p};n=${'x'.repeat(dkimRecordLength - 15 - p.length)}`, true],
    [`k=ed25519;p=${p};n=${'x'.repeat(dkimRecordLength - 14 - p.length)}`, false],
    [`k=ed25519;p=${p};`, true],
    [`k=ed25519;p=${p};;`, false],
    [`k=ed25519;p=${p} é`, false],
  ] as const) {
    const wanted = isFound ? 'ed25519' : 'permerror'
    // node:dns gives a record in pieces of at most 255 bytes.
    const pieces = record.match(/.{1,50}/gs) ?? []
    for (const [form, records] of [
      ['pieces', [pieces]],
      ['text', [record]],
    ] as const)
      t.equal(await found(async () => [...records], ed25519), wanted, `${form}: ${record.slice(0, 60)}`)
  }
  t.equal(await found(async () => [[ownRecord]], { ...ed25519, identityDomain: 'a.example' }), 'ed25519')
  t.equal(
    await found(async () => [[`k=ed25519; t=s; p=${p}`]], { ...ed25519, identityDomain: 'a.example' }),
    'ed25519',
  )
  for (const records of [[], [[ownRecord], [ownRecord]], [['']], [[]], [null], [undefined], [{}]])
    t.equal(await found(async () => records, ed25519), 'permerror', JSON.stringify(records))

  const e33 = Buffer.from('01ffffffff', 'hex').toString('base64url')
  const e34 = Buffer.from('0200000001', 'hex').toString('base64url')
  for (const [key, wanted] of [
    [rsa(dkimKeyBitsMin - 1), 'policy'],
    [rsa(dkimKeyBitsMin), `rsa ${dkimKeyBitsMin}`],
    [rsa(1500, 'AQAB', 'pkcs1'), 'rsa 1500'],
    [rsa(dkimKeyBits), `rsa ${dkimKeyBits}`],
    [rsa(dkimKeyBits + 1), 'policy'],
    [rsa(2048, 'Aw'), 'rsa 2048'],
    [rsa(2048, e33), 'rsa 2048'],
    [rsa(2048, e34), 'policy'],
    [publicKey.export({ format: 'der', type: 'spki' }).toString('base64'), 'permerror'],
    [p, 'permerror'],
  ])
    for (const record of [`p=${key}`, `v=DKIM1; k=RSA; p=${key}`])
      t.equal(await found(async () => [[record]], plain), wanted, record.slice(0, 40))
})

const alphabet = ['a', 'b', ' ', ' ', '\t', '\r\n', '\r\n', '\r', '\n', 'word', '\xff', '\0']

/** The canonical body (RFC 6376 §3.4.3, §3.4.4), said once more. */
function canonical(body: string, form: 'simple' | 'relaxed'): string {
  const lines = form === 'simple' ? body : body.replace(/[ \t]+(?=\r\n|$)/g, '').replace(/[ \t]+/g, ' ')
  const text = lines.replace(/(?:\r\n)+$/, '')
  return text === '' && form === 'relaxed' ? '' : `${text}\r\n`
}

t.test('the hashes of a body, whatever of it they are of and in whatever pieces it comes', async t => {
  const { one, upTo, some } = choicesOf(6376)
  for (let i = 0; i < 300; i++) {
    const body = some(alphabet, 14).join('')
    const header = `From: a@b.example\r\nX: ${'y'.repeat(upTo(9))}\r\n z\r\n`
    const raw = Buffer.from(`${header}\r\n${body}`, 'latin1')
    const parts: BodyPart[] = Array.from({ length: 1 + upTo(3) }, () => ({
      bodyForm: one(['simple', 'relaxed'] as const),
      bodyLength: one([undefined, 0, 1, upTo(20)]),
    }))
    const pieces: Buffer[] = []
    for (let at = 0; at < raw.length; ) {
      const end = at + 1 + upTo(20)
      pieces.push(raw.subarray(at, end))
      at = end
    }
    let seen: readonly string[] = []
    const message = await hashMessage(i % 2 === 0 ? raw : Readable.from(pieces), fields => {
      seen = fields
      return parts
    })
    const fields = header.split(/\r\n(?! )/).slice(0, -1)
    t.strictSame([message.fields, seen], [fields, fields])
    for (const part of parts) {
      const whole = Buffer.from(canonical(body, part.bodyForm), 'latin1')
      const { bodyLength = whole.length } = part
      const wanted =
        bodyLength > whole.length
          ? undefined
          : { digest: hash('sha256', whole.subarray(0, bodyLength), 'base64'), totalBytes: whole.length }
      t.strictSame(message.bodyHash(part), wanted, JSON.stringify([body, part]))
    }
    t.equal(message.bodyHash({ bodyForm: 'relaxed', bodyLength: 99 }), undefined, 'nobody asked for it')
  }
})

t.test('of a body above the bound the first three parts are hashed', async t => {
  const parts: BodyPart[] = [1, 2, 2, 3, 4].map(bodyLength => ({ bodyForm: 'simple', bodyLength }))
  for (const size of [dkimSmallBytes, dkimSmallBytes + 1]) {
    const { bodyHash } = await hashMessage(Buffer.from(`From: a\r\n\r\n${'x'.repeat(size)}`), () => parts)
    const found = parts.map(part => bodyHash(part)?.digest)
    const wanted = [1, 2, 2, 3, 4].map(length => hash('sha256', 'x'.repeat(length), 'base64'))
    t.strictSame(found, size > dkimSmallBytes ? [...wanted.slice(0, 4), undefined] : wanted, `${size}`)
    t.equal(bodyHash(parts[0]!)?.totalBytes, size + 2)
  }
  // A header as long as one may be, and a stream of it in two pieces around where it is read.
  const long = `From: a\r\nX: ${'y'.repeat(headerBytes - 14)}\r\n`
  for (const cut of [headerBytes, headerBytes + 4, headerBytes + 5]) {
    const raw = Buffer.from(`${long}\r\nbody\r\n`)
    const { fields, bodyHash } = await hashMessage(
      Readable.from([raw.subarray(0, cut), raw.subarray(cut)]),
      () => [sealedPart],
    )
    t.equal(fields.length, 2)
    t.equal(bodyHash(sealedPart)?.digest, hash('sha256', 'body\r\n', 'base64'), `cut at ${cut}`)
  }
})

t.test('a signature is checked in the order in which it costs', async t => {
  const bh = hash('sha256', 'hi\r\n', 'base64')
  const made = (tags: string, key = 's1', wrong?: string) => {
    const open = `v=1; a=ed25519-sha256; c=relaxed/relaxed; d=a.example; s=${key}; h=from; ${tags}; b=`
    return `DKIM-Signature: ${open}${wrong ?? signed(`from:a@a.example\r\ndkim-signature:${open}`)}\r\n`
  }
  const now = new Date(9000)
  const check = async (field: string, body = 'hi\r\n') => {
    const asked: string[] = []
    const lookup = async (name: string) => {
      asked.push(name)
      if (name.startsWith('late')) throw Object.assign(new Error('late'), { code: 'ETIMEOUT' })
      if (name.startsWith('gone')) throw Object.assign(new Error('gone'), { code: 'ENODATA' })
      return [[ownRecord]]
    }
    const message = await hashMessage(Buffer.from(`${field}From: a@a.example\r\n\r\n${body}`), fields =>
      readDkimSignatures(fields).flatMap(each => ('fault' in each ? [] : [each])),
    )
    const [signature] = readDkimSignatures(message.fields)
    const { result, domain, selector } = await checkDkim(signature!, { ...message, now }, lookup)
    return `${result} ${domain} ${selector} ${asked.length}`
  }
  t.equal(await check(made(`bh=${bh}`)), 'pass a.example s1 1')
  t.equal(await check(made(`bh=${bh}`), 'ho\r\n'), 'fail a.example s1 0')
  t.equal(await check(made(`bh=${bh}`, 'late'), 'ho\r\n'), 'fail a.example late 0')
  t.equal(await check(made(`bh=${bh}`, 'late')), 'temperror a.example late 1')
  t.equal(await check(made(`bh=${bh}`, 'gone')), 'permerror a.example gone 1')
  t.equal(await check(made(`bh=${bh}`, 's1', 'AAAA')), 'fail a.example s1 1')
  t.equal(await check(made(`bh=${bh}; x=9`)), 'pass a.example s1 1')
  t.equal(await check(made(`bh=${bh}; x=8`)), 'permerror a.example s1 0')
  t.equal(await check(made(`bh=${bh}; x=8`), 'ho\r\n'), 'permerror a.example s1 0')
  t.equal(await check(made(`bh=${bh}; l=4`)), 'pass a.example s1 1')
  t.equal(await check(made(`bh=${bh}; l=4`), 'hi\r\nho\r\n'), 'policy a.example s1 1')
  t.equal(await check(made(`bh=${bh}; l=5`)), 'permerror a.example s1 0')
  t.equal(await check(made(`bh=${bh}; v=2`)), 'neutral   0')
})

type Made = { results: string; message: string; seal: string }

/** How a set is made otherwise. */
interface Otherwise {
  readonly cv?: string
  readonly tags?: string
  readonly s?: string
  /** The key of its message signature, where that is not the one of its seal. */
  readonly messageKey?: string
  readonly wrong?: keyof Made
}

/** Rightly sealed sets, of which some are made otherwise. */
function chainOf(count: number, otherwise: (i: number) => Otherwise = () => ({})): Made[] {
  const sets: Made[] = []
  const bh = hash('sha256', 'hi\r\n', 'base64')
  let sealed = ''
  for (let i = 1; i <= count; i++) {
    const { cv = i === 1 ? 'none' : 'pass', tags = '', s = 's1', messageKey = s, wrong } = otherwise(i)
    const who = (selector: string) => `i=${i}; a=ed25519-sha256; d=d${i}.example; s=${selector};`
    const results = `i=${i}; mx${i}.example; dmarc=pass`
    const open = `${who(messageKey)} c=relaxed/relaxed; h=from;${tags} bh=${bh}; b=`
    const message = `${open}${wrong === 'message' ? 'AAAA' : signed(`from:a@a.example\r\narc-message-signature:${open}`)}`
    const openSeal = `${who(s)} cv=${cv}; b=`
    sealed += `arc-authentication-results:${results}\r\narc-message-signature:${message}\r\narc-seal:`
    const seal = `${openSeal}${wrong === 'seal' ? 'AAAA' : signed(`${sealed}${openSeal}`)}`
    sealed += `${seal}\r\n`
    sets.push({ results, message, seal })
  }
  return sets
}

const fieldsOf = (sets: readonly Made[]) =>
  sets.flatMap(({ results, message, seal }) => [
    `ARC-Seal: ${seal}`,
    `ARC-Message-Signature: ${message}`,
    `ARC-Authentication-Results: ${results}`,
  ])

t.test('chains', async t => {
  const check = async (fields: readonly string[], body = 'hi\r\n') => {
    const asked: string[] = []
    const lookup: Lookup = async name => {
      asked.push(name)
      if (name.startsWith('late')) throw Object.assign(new Error('late'), { code: 'ETIMEOUT' })
      if (name.startsWith('gone')) throw Object.assign(new Error('gone'), { code: 'ENODATA' })
      return [[ownRecord]]
    }
    const raw = [...fields, 'From: a@a.example', '', body].join('\r\n')
    const message = await hashMessage(Buffer.from(raw), read => {
      const chain = readArcChain(read)
      return chain === 'fail' ? [] : chain.slice(-1).map(set => set.messageSignature)
    })
    const said = await checkArc(readArcChain(message.fields), message, lookup)
    const unknown = said.isUnknown ? ' unknown' : ''
    return `${said.result}${unknown} ${said.sealer} ${said.found} ${asked.length}`.replace(/ +/g, ' ')
  }
  const passes = (count: number) => `pass d${count}.example mx${count}.example; dmarc=pass ${count + 2}`
  const { upTo } = choicesOf(8617)
  for (const count of [1, 2, 3, arcSets]) {
    const fields = fieldsOf(chainOf(count))
    t.equal(await check(fields), passes(count), `${count} sets`)
    t.equal(await check(fields.toSorted(() => upTo(2) - 1)), passes(count), 'in any order')
  }
  t.equal(await check([]), 'none 0')
  t.equal(await check(fieldsOf(chainOf(arcSets + 1))), 'fail 0')

  const three = fieldsOf(chainOf(3))
  for (let at = 0; at < three.length; at++) {
    const [name, value] = three[at]!.split(/: (.*)/s)
    t.match(await check(three.toSpliced(at, 1)), /^fail 0$/, `without ${name} of ${value!.slice(0, 3)}`)
    t.match(await check(three.toSpliced(at, 0, three[at]!)), /^fail 0$/, 'twice')
    for (const [wrong, instance] of [
      ['another instance', `i=${value!.startsWith('i=1') ? 2 : 1}`],
      ['none', 'x=1'],
      ['0', 'i=0'],
      ['a larger one', 'i=4'],
      ['a text', 'i=a'],
    ] as const)
      t.match(await check(three.with(at, `${name}: ${value!.replace(/^i=./, instance)}`)), /^fail 0$/, wrong)
    // Of the sets before the newest the seals alone are looked at.
    const changed = three.with(at, `${name}: ${value}x`)
    t.match(await check(changed), /^fail /, `${name} is changed`)
  }
  // RFC 8617 §4.1.1: white space and comments may stand in it; a value is what it was.
  const spaced = three.map(field => field.replace('Results: i=', 'Results:  i = ').replace(/; (?=mx)/, ' ;'))
  t.match(await check(spaced), /^fail [0-9]/, 'not as it was sealed, and read')

  for (const [what, otherwise, wanted] of [
    ['the newest message signature is wrong', (i: number) => (i === 3 ? { wrong: 'message' } : {}), 'fail 2'],
    ['an older one', (i: number) => (i === 2 ? { wrong: 'message' } : {}), passes(3)],
    ['the newest seal', (i: number) => (i === 3 ? { wrong: 'seal' } : {}), 'fail 3'],
    ['the second', (i: number) => (i === 2 ? { wrong: 'seal' } : {}), 'fail 4'],
    ['the first', (i: number) => (i === 1 ? { wrong: 'seal' } : {}), 'fail 5'],
    ['the first says pass', (i: number) => (i === 1 ? { cv: 'pass' } : {}), 'fail 0'],
    ['the first says fail', (i: number) => (i === 1 ? { cv: 'fail' } : {}), 'fail 0'],
    ['the second says none', (i: number) => (i === 2 ? { cv: 'none' } : {}), 'fail 0'],
    ['the last says fail', (i: number) => (i === 3 ? { cv: 'fail' } : {}), 'fail 0'],
    ['capitals', (i: number) => (i === 3 ? { cv: 'PASS' } : {}), passes(3)],
    ['the newest is of a part', (i: number) => (i === 3 ? { tags: ' l=4;' } : {}), passes(3)],
    ['the newest is of more', (i: number) => (i === 3 ? { tags: ' l=5;' } : {}), 'fail 0'],
    [
      'the newest key is late',
      (i: number) => (i === 3 ? { s: 'late' } : {}),
      'fail unknown d3.example mx3.example; dmarc=pass 1',
    ],
    [
      'the key of the newest message signature alone is late',
      (i: number) => (i === 3 ? { messageKey: 'late' } : {}),
      'fail unknown d3.example mx3.example; dmarc=pass 2',
    ],
    [
      'that of the newest seal alone',
      (i: number) => (i === 3 ? { s: 'late', messageKey: 's1' } : {}),
      'fail unknown d3.example mx3.example; dmarc=pass 1',
    ],
    ['of an older message signature', (i: number) => (i === 2 ? { messageKey: 'late' } : {}), passes(3)],
    [
      'the key of the newest message signature is gone',
      (i: number) => (i === 3 ? { messageKey: 'gone' } : {}),
      'fail 2',
    ],
    [
      'that of the newest seal is gone, and the other late',
      (i: number) => (i === 3 ? { s: 'gone', messageKey: 'late' } : {}),
      'fail 1',
    ],
    [
      'that of the newest seal alone is gone',
      (i: number) => (i === 3 ? { s: 'gone', messageKey: 's1' } : {}),
      'fail 1',
    ],
    ['an older key is late', (i: number) => (i === 2 ? { s: 'late' } : {}), 'fail 4'],
    ['the newest key is gone', (i: number) => (i === 3 ? { s: 'gone' } : {}), 'fail 1'],
    ['an older key is gone', (i: number) => (i === 1 ? { s: 'gone' } : {}), 'fail 5'],
  ] as const)
    t.equal(await check(fieldsOf(chainOf(3, otherwise as Parameters<typeof chainOf>[1]))), wanted, what)
  t.equal(await check(three, 'ho\r\n'), 'fail 0', 'another body')
  t.equal(await check(fieldsOf(chainOf(1, () => ({ tags: ' l=4;' }))), 'hi\r\nho\r\n'), 'fail 2', 'of a part')
})

t.test('a chain gets no more sets than it may have', async t => {
  const key = { domain: 'ours.example', selector: 's', signedAt: new Date(9999) }
  const signer = {
    ...key,
    privateKeyPem: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
      format: 'pem',
      type: 'pkcs8',
    }) as string,
  }
  for (const count of [0, 1, arcSets - 1, arcSets]) {
    const raw = [...fieldsOf(chainOf(count)), 'From: a@a.example', '', 'hi\r\n'].join('\r\n')
    const message = await hashMessage(Buffer.from(raw), () => [sealedPart])
    const made = await sealArc(
      message,
      { results: 'mx.ours.example; arc=pass', chain: count === 0 ? 'none' : 'pass' },
      signer,
    )
    const instance = count + 1
    if (count === arcSets) t.equal(made, '')
    else {
      t.match(
        made,
        new RegExp(
          `^ARC-Seal: i=${instance}; a=rsa-sha256; cv=${count === 0 ? 'none' : 'pass'};\r\n\td=ours.example; s=s; t=9;\r\n\tb=`,
        ),
      )
      t.match(made, `ARC-Authentication-Results: i=${instance}; mx.ours.example; arc=pass\r\n`)
      t.match(
        made,
        new RegExp(
          `ARC-Message-Signature: i=${instance}; a=rsa-sha256; c=relaxed/relaxed;\r\n\td=ours.example; s=s; t=9;\r\n\th=`,
        ),
      )
    }
  }
})
