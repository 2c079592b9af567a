import { createHash, createPublicKey, generateKeyPairSync, KeyObject, randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dkimSign } from 'mailauth'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import t from 'tap'
import { sliceBytes } from '../../../lib/base/concurrency.ts'
import { checkDkim, readDkimSignatures } from '../../../lib/mail/authentication/dkim.ts'
import { createCanonicalBody } from '../../../lib/mail/compose/canonical.ts'
import {
  dkimRecord,
  generateDkimKey,
  signDkim,
  signedText,
  signText,
} from '../../../lib/mail/compose/dkim.ts'
import { sealedPart } from '../../../lib/mail/signature/arc-seal.ts'
import { dkimBodyHashes } from '../../../lib/mail/signature/body-hash.ts'
import { dkimKeyBits, dkimRecordLength, findKey } from '../../../lib/mail/signature/key.ts'
import { hashMessage } from '../../../lib/mail/signature/message.ts'
import { turnsDuring } from '../../support/event-loop.ts'
import { dkimMessages } from '../compose/dkim-messages.ts'

const committed = new URL('../../data/dkim/', import.meta.url)
/** All of them, beside the checkout. */
const shared = new URL('../../../../shared/corpora/dkim/', import.meta.url)
const now = new Date('2026-11-21T12:00:00Z')

function lookupIn(txt: Readonly<Record<string, string | string[]>>) {
  const asked: string[] = []
  const lookup = async (name: string) => {
    asked.push(name)
    const records = txt[name.toLowerCase()]
    if (records === undefined) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
    return [records].flat().map(record => [record])
  }
  return { asked, lookup }
}

/** The result of each signature. */
async function check(raw: Buffer, txt: Readonly<Record<string, string | string[]>>): Promise<string[]> {
  const { lookup } = lookupIn(txt)
  const message = await hashMessage(raw, fields =>
    readDkimSignatures(fields).flatMap(each => ('fault' in each ? [] : [each])),
  )
  const signatures = readDkimSignatures(message.fields)
  const checked = await Promise.all(signatures.map(each => checkDkim(each, { ...message, now }, lookup)))
  return checked.map(({ result }) => result)
}

/** Those of mailauth, in our words. */
async function mailauthSays(
  raw: Buffer,
  txt: Readonly<Record<string, string | string[]>>,
): Promise<string[]> {
  const { results } = await dkimVerify(raw, {
    resolver: lookupIn(txt).lookup as never,
    curTime: now,
    rejectRsaSha1: true,
    strict: true,
  } as never)
  return results
    .filter(row => row.signingDomain)
    .map(({ status }) => {
      if (status.result === 'pass') return (status as { underSized?: number }).underSized ? 'policy' : 'pass'
      if (status.result === 'neutral' && status.comment === 'body hash did not verify') return 'fail'
      // It has no other word for a key that is not there, or a signature that is over.
      return status.result === 'policy' || status.result === 'neutral' ? 'permerror' : status.result
    })
}

const key = await generateDkimKey()
const domain = { domain: 'example.com', selector: 's1', privateKeyPem: key.privateKeyPem, signedAt: now }
const name = 's1._domainkey.example.com'
const txt = { [name]: dkimRecord(key.publicKeyBase64) }

t.test('every form that mailauth signs in holds, whole and in part, and no changed one does', async t => {
  for (const [what, raw] of Object.entries(dkimMessages)) {
    for (const canonicalization of ['simple/simple', 'simple/relaxed', 'relaxed/simple', 'relaxed/relaxed']) {
      const own = {
        signingDomain: 'example.com',
        selector: 's1',
        privateKey: key.privateKeyPem,
        canonicalization,
      }
      for (const maxBodyLength of [undefined, 1]) {
        const { signatures } = await dkimSign(raw, {
          ...own,
          signatureData: [{ ...own, ...(maxBodyLength === undefined ? {} : { maxBodyLength }) }],
        } as never)
        const signed = Buffer.concat([Buffer.from(signatures), raw])
        const said = await mailauthSays(signed, txt)
        t.same(await check(signed, txt), said, `${what}: ${canonicalization}, l=${maxBodyLength}`)
        // Without an empty line a body that begins here is one for us, and more of the header for mailauth.
        if (!raw.includes('\r\n\r\n')) continue
        const changed = Buffer.concat([signed, Buffer.from('more\r\n')])
        t.same(await check(changed, txt), await mailauthSays(changed, txt), `${what}, longer`)
      }
    }
    const signed = await signDkim(raw, domain)
    t.same((await check(signed, txt))[0], 'pass', what)
    const text = signed.toString('latin1')
    const second = Buffer.from(text.replace(/\r\n(?=from[ \t]*:)/i, '\r\nFrom: x@y.example\r\n'), 'latin1')
    t.same((await check(second, txt))[0], 'fail', `${what}, with a second From`)
  }
})

t.test('the messages of others', async t => {
  const keys = corpusKeys()
  let signatures = 0
  const folders = ['mimekit/', 'mailauth/'].map(name => new URL(name, committed))
  if (existsSync(shared))
    for (const name of ['mimekit/', 'mailauth-arc-dkim/']) folders.push(new URL(name, shared))
  for (const folder of folders) {
    for (const file of readdirSync(folder).filter(each => /\.(msg|eml)$/.test(each))) {
      const text = readFileSync(new URL(file, folder), 'latin1')
      const raw = Buffer.from(text.replace(/\r?\n/g, '\r\n'), 'latin1')
      const ours = await check(raw, keys)
      t.same(ours, await mailauthSays(raw, keys), file)
      signatures += ours.length
    }
  }
  t.ok(signatures >= 10, `${signatures} signatures`)
})

t.test('what is wrong with a signature for good is known without its key', async t => {
  // Of the right body, so that nothing but what is wrong keeps its key from being asked for.
  const bh = createHash('sha256').update('x\r\n').digest('base64')
  const good = `v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.com; s=s1; h=from; bh=${bh}; b=AAAA`
  const label = 'a'.repeat(64)
  const wrong = [
    ...[
      '',
      '.',
      'a..b',
      'a b',
      'a\tb',
      'a\x01b',
      'a\xe9b',
      'a\\.b',
      '*',
      '-a',
      'a-',
      label,
      'a.'.repeat(130),
    ].flatMap(each => [
      good.replace('s=s1', `s=${each}`),
      good.replace('d=example.com', `d=${each}.example.com`),
    ]),
    good.replace('d=example.com', 'd=com'),
    good.replace('d=example.com', 'd='),
    ...['v=1; ', 'a=rsa-sha256; ', 'd=example.com; ', ' s=s1;', 'h=from; ', `bh=${bh}; `, ' b=AAAA'].map(
      tag => good.replace(tag, ''),
    ),
    good.replace('v=1', 'v=2'),
    good.replace('rsa-sha256', 'rsa-sha1'),
    good.replace('h=from', 'h=to:subject'),
    good.replace('h=from', 'h='),
    good.replace('relaxed/relaxed', 'relaxed/x'),
    good.replace(`bh=${bh}`, 'bh=*'),
    good.replace('b=AAAA', 'b=*'),
    ...[
      's=s1',
      'l=-1',
      'l=x',
      'x=1',
      't=9; x=8',
      'q=http',
      'i=@other.example',
      'i=example.com',
      'nothing',
      '=1',
    ].map(tag => `${good}; ${tag}`),
    good.replace('d=', ';d='),
    '',
  ]
  const ask = async (value: string) => {
    const { asked, lookup } = lookupIn(txt)
    const raw = Buffer.from(`DKIM-Signature: ${value}\r\nFrom: a@example.com\r\n\r\nx\r\n`, 'latin1')
    const message = await hashMessage(raw, fields =>
      readDkimSignatures(fields).flatMap(each => ('fault' in each ? [] : [each])),
    )
    const [signature] = readDkimSignatures(message.fields)
    const { result } = await checkDkim(signature!, { ...message, now }, lookup)
    return { result, asked }
  }
  t.strictSame(await ask(good), { result: 'fail', asked: [name] }, 'with nothing wrong but its b=')
  for (const value of wrong) {
    const isUnbelieved = value.includes('rsa-sha1')
    const isLacking = /h=(?:to:subject|;)|; x=1$/.test(value) || (value !== '' && !value.includes(' h='))
    const result = isUnbelieved ? 'policy' : isLacking ? 'permerror' : 'neutral'
    t.strictSame(await ask(value), { result, asked: [] }, JSON.stringify(value))
  }
})

/** Rightly signed, with tags that signDkim does not write. */
async function signWith(raw: Buffer, tags: string): Promise<Buffer> {
  const { fields, bodyHash } = await hashMessage(raw, () => [sealedPart])
  const unsigned = `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.com; s=s1; h=from; bh=${bodyHash(sealedPart)!.digest}; ${tags}; b=`
  const text = signedText({ names: ['from'], headerForm: 'relaxed', unsigned }, fields)
  return Buffer.concat([Buffer.from(`${unsigned}${await signText(text, domain)}\r\n`), raw])
}

t.test('a right signature that does not count any more, or for whom it names', async t => {
  const raw = dkimMessages.plain!
  const seconds = now.getTime() / 1000
  const strict = { [name]: `v=DKIM1; t=s; p=${key.publicKeyBase64}` }
  const cases: readonly (readonly [string, string, typeof txt])[] = [
    [`t=${seconds - 9}; x=${seconds + 9}`, 'pass', txt],
    [`t=${seconds - 9}; x=${seconds}`, 'pass', txt],
    [`t=${seconds - 9}; x=${seconds - 1}`, 'permerror', txt],
    [`t=${seconds + 9}; x=${seconds + 5}`, 'neutral', txt],
    ['i=a@example.com', 'pass', strict],
    ['i=@mail.example.com', 'pass', txt],
    ['i=@mail.example.com', 'permerror', strict],
    ['i=@notexample.com', 'neutral', txt],
    ['l=999999', 'permerror', txt],
  ]
  for (const [tags, result, keys] of cases) {
    t.same(await check(await signWith(raw, tags), keys), [result], `${tags}${keys === strict ? ', t=s' : ''}`)
  }
})

t.test('keys', async t => {
  const signed = await signDkim(dkimMessages.plain!, domain)
  const p = key.publicKeyBase64
  const rsa = (modulusLength: number, publicExponent = 65537) =>
    generateKeyPairSync('rsa', {
      modulusLength,
      publicExponent,
      publicKeyEncoding: { type: 'spki', format: 'der' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    }).publicKey.toString('base64')
  for (const record of [
    `p=${p}`,
    `v=DKIM1; p=${p}`,
    `v=DKIM1;k=rsa;h=sha1:sha256;s=email;t=y:s;n=x;p=${p};`,
  ]) {
    t.same(await check(signed, { [name]: record }), ['pass'], record.slice(0, 20))
  }
  const { n } = createPublicKey({ key: Buffer.from(p, 'base64'), format: 'der', type: 'spki' }).export({
    format: 'jwk',
  })
  // To raise to it costs as many times more as it has bits more than 17.
  const e = Buffer.from(`${'ff'.repeat(200)}`, 'hex').toString('base64url')
  const costly = createPublicKey({ key: { kty: 'RSA', n: n!, e }, format: 'jwk' })
    .export({ format: 'der', type: 'spki' })
    .toString('base64')
  for (const record of [
    'v=DKIM1; p=',
    'v=DKIM1',
    'nonsense',
    '',
    `v=DKIM2; p=${p}`,
    `p=${p}; v=DKIM1`,
    `v=DKIM1; k=ed25519; p=${p}`,
    `v=DKIM1; h=sha1; p=${p}`,
    `v=DKIM1; s=other; p=${p}`,
    `v=DKIM1; p=${p}; p=${p}`,
    `v=DKIM1; p=${p.slice(0, 100)}`,
    `v=DKIM1; p=${p}; n=${'x'.repeat(dkimRecordLength)}`,
    [`v=DKIM1; p=${p}`, `v=DKIM1; p=${p}`],
    [],
  ]) {
    t.same(await check(signed, { [name]: record }), ['permerror'], String(record).slice(0, 40))
  }
  t.same(await check(signed, {}), ['permerror'], 'none')
  for (const weak of [costly, rsa(512), rsa(dkimKeyBits + 8)]) {
    t.same(await check(signed, { [name]: `v=DKIM1; p=${weak}` }), ['policy'], 'a key that is not believed')
  }
  t.same(await check(signed, { [name]: `p=${rsa(2048)}` }), ['fail'], 'another')
})

t.test('a key is made once of a record, and of each type apart', async t => {
  const { fields } = await hashMessage(await signDkim(dkimMessages.plain!, domain), () => [])
  const [signature] = readDkimSignatures(fields)
  if (!signature || 'fault' in signature) return t.fail('the signature is not read')
  const record = [`p=${key.publicKeyBase64}`]
  const find = (of: string[], keyType = signature.keyType) =>
    findKey(async () => [of], { ...signature, keyType })
  const found = await find(record)
  t.ok(found instanceof KeyObject)
  t.equal(await find(record), found)
  t.not(await find([...record]), found, 'of another record another one')
  const either = [`v=DKIM1; k=ed25519; p=${randomBytes(32).toString('base64')}`]
  t.equal(await find(either), 'permerror')
  t.match(await find(either, 'ed25519'), { asymmetricKeyType: 'ed25519' })
  t.equal(await find(either), 'permerror')
})

t.test('a body is made canonical alike in whatever pieces it comes', async t => {
  const bodies = [
    '',
    '\r\n',
    '\r\n\r\n',
    'x',
    ' \r\n',
    'a \t b \r\n\r\n \r\n',
    'a\rb\nc\r\r\n',
    'word\rword  word\nword\tword\r\n\r\nword\r word\r\n',
    'a\r',
    ' \r',
    '\r\n\ra ',
    'a \r\n',
  ]
  for (const body of [
    ...bodies,
    ...Object.values(dkimMessages).map(raw => raw.toString('latin1').slice(0, 400)),
  ]) {
    for (const form of ['simple', 'relaxed'] as const) {
      const made = (size: number) => {
        const canonical = createCanonicalBody(form)
        const bytes = Buffer.from(body, 'latin1')
        const parts: Buffer[] = []
        for (let at = 0; at < bytes.length; at += size)
          parts.push(Buffer.from(canonical.next(bytes.subarray(at, at + size))))
        return Buffer.concat([...parts, canonical.end()]).toString('latin1')
      }
      const whole = made(1_000_000)
      for (const size of [1, 2, 3, 7])
        t.equal(made(size), whole, JSON.stringify([form, size, body.slice(0, 20)]))
      // RFC 6376 §3.4.3, §3.4.4, said once more.
      const relaxed = body.replace(/[ \t]+(?=\r\n|$)/g, '').replace(/[ \t]+/g, ' ')
      const text = (form === 'simple' ? body : relaxed).replace(/(?:\r\n)+$/, '')
      t.equal(
        whole,
        text === '' && form === 'relaxed' ? '' : `${text}\r\n`,
        JSON.stringify([form, body.slice(0, 20)]),
      )
    }
  }
})

t.test('ten signatures of parts of a large body cost what a few do', async t => {
  const spaces = `${' '.repeat(900)}\r\n`
  for (const form of ['relaxed', 'simple']) {
    for (const unit of [spaces, '\r\n', '\t a'.repeat(300)]) {
      const fields = Array.from(
        { length: 10 },
        (_, i) =>
          `DKIM-Signature: v=1; a=rsa-sha256; c=${form}/${form}; d=example.com; s=s1; h=from; l=${i * 1000 + 1}; bh=AAAA; b=AAAA\r\n`,
      )
      const body = unit.repeat(Math.ceil((4 * sliceBytes) / unit.length))
      const raw = Buffer.from(`${fields.join('')}From: a@example.com\r\n\r\n${body}`)
      const { result, turns } = await turnsDuring(() => check(raw, txt))
      t.same(result.slice(dkimBodyHashes), Array(10 - dkimBodyHashes).fill('permerror'))
      t.ok(turns >= 3, `others had ${turns} turns`)
    }
  }
  // A small one is hashed as often as it is asked for.
  const { signatures } = await dkimSign(dkimMessages.plain!, {
    signatureData: [1, 2, 3, 4, 5, 6].map(maxBodyLength => ({
      signingDomain: 'example.com',
      selector: 's1',
      privateKey: key.privateKeyPem,
      maxBodyLength,
    })),
  } as never)
  const small = Buffer.concat([Buffer.from(signatures), dkimMessages.plain!])
  t.same(await check(small, txt), Array(6).fill('policy'))
})

/** The keys that lie beside the messages of MimeKit, and that of RFC 8463. */
function corpusKeys(): Record<string, string> {
  const pem = (file: string) =>
    readFileSync(new URL(`mimekit/${file}`, committed), 'latin1').replace(/-----[^\n]*|\s/g, '')
  return {
    '20120113._domainkey.gmail.com': `k=rsa; p=${pem('gmail.pub')}`,
    'brisbane._domainkey.football.example.com':
      'v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
  }
}
