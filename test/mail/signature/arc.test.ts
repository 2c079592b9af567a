import { existsSync, readFileSync } from 'node:fs'
import { authenticate } from 'mailauth'
import t from 'tap'
import {
  dkimRecord,
  generateDkimKey,
  signDkim,
  signedText,
  signText,
} from '../../../lib/mail/compose/dkim.ts'
import { checkArc, readArcChain, sealedText } from '../../../lib/mail/signature/arc.ts'
import { sealArc, sealedPart } from '../../../lib/mail/signature/arc-seal.ts'
import { hashMessage } from '../../../lib/mail/signature/message.ts'
import { verifyArcWithDkimpy } from '../../support/opendkim.ts'
import { without } from '../../support/peers.ts'
import { dkimMessages } from '../compose/dkim-messages.ts'

const corpora = new URL('../../../../shared/corpora/', import.meta.url)
const skip = existsSync(corpora) ? false : 'the corpora are not here'

/** Asks these TXT records; counts what is asked. */
function lookupIn(txt: Readonly<Record<string, string>>) {
  const asked: string[] = []
  const lookup = async (name: string) => {
    asked.push(name)
    if (txt[name] === undefined) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
    return [[txt[name]]]
  }
  return { asked, lookup }
}

async function check(raw: Buffer, txt: Readonly<Record<string, string>>) {
  const message = await hashMessage(raw, fields => {
    const chain = readArcChain(fields)
    return chain === 'fail' ? [] : chain.slice(-1).map(set => set.messageSignature)
  })
  const { asked, lookup } = lookupIn(txt)
  return { ...(await checkArc(readArcChain(message.fields), message, lookup)), asked }
}

/** What mailauth says of the chain. */
async function mailauthSays(raw: Buffer, txt: Readonly<Record<string, string>>): Promise<string> {
  const { lookup } = lookupIn(txt)
  const session = { ip: '192.0.2.1', helo: 'x', mta: 'x', sender: 'x@y.example', strict: true }
  const { arc } = await authenticate(raw, { ...session, resolver: lookup as never })
  return arc ? arc.status.result : 'none'
}

/**
 * Why two of the 171 do not come out as the suite has it. mailauth says the same of both.
 * - ams_fields_c_na: without c= the suite has relaxed/relaxed, RFC 6376 §3.5 simple/simple, and its field was folded since.
 * - ams_fields_h_empty: a signature that does not cover From proves nothing of who wrote (RFC 6376 §5.4).
 */
const otherwise = ['ams_fields_c_na', 'ams_fields_h_empty']

t.test('the validation suite of ARC', { skip }, async t => {
  const file = new URL('arc/arc-draft-validation-tests.json', corpora)
  const suites = JSON.parse(readFileSync(file, 'utf8')) as ArcSuite[]
  let cases = 0
  for (const suite of suites) {
    for (const [name, { message, cv }] of Object.entries(suite.tests)) {
      const raw = Buffer.from(message.replace(/\r?\n/g, '\r\n'))
      const { result } = await check(raw, suite['txt-records'])
      const wanted = otherwise.includes(name) ? 'fail' : cv.toLowerCase()
      // Where the suite leaves open what it is, it is no pass.
      if (wanted === '') t.not(result, 'pass', name)
      else t.equal(result, wanted, name)
      t.equal(result, await mailauthSays(raw, suite['txt-records']), `${name}: mailauth`)
      cases++
    }
  }
  t.equal(cases, 171)
})

const key = await generateDkimKey()
const txt = {
  's1._domainkey.one.example': dkimRecord(key.publicKeyBase64),
  's1._domainkey.two.example': dkimRecord(key.publicKeyBase64),
}
const signerOf = (domain: string) => ({
  domain,
  selector: 's1',
  privateKeyPem: key.privateKeyPem,
  signedAt: new Date('2026-11-21T12:00:00Z'),
})

/** With our set above it. */
async function sealed(raw: Buffer, domain: string, chain: 'none' | 'pass' | 'fail'): Promise<Buffer> {
  const message = await hashMessage(raw, () => [sealedPart])
  const results = `mx.${domain};\r\n\tspf=pass smtp.mailfrom=a.example;\r\n\tdmarc=pass header.from=a.example;\r\n\tarc=${chain}`
  return Buffer.concat([Buffer.from(await sealArc(message, { results, chain }, signerOf(domain))), raw])
}

t.test('our sets hold for mailauth, and for us', async t => {
  for (const [name, raw] of Object.entries(dkimMessages)) {
    const once = await sealed(await signDkim(raw, signerOf('one.example')), 'one.example', 'none')
    const twice = await sealed(once, 'two.example', 'pass')
    for (const [copy, sealer] of [
      [once, 'one.example'],
      [twice, 'two.example'],
    ] as const) {
      t.match(await check(copy, txt), { result: 'pass', sealer, isUnknown: false }, name)
      t.equal(await mailauthSays(copy, txt), 'pass', `${name}: mailauth`)
    }
  }
})

t.test('and for dkimpy', { skip: without('dkimpy') }, async t => {
  const once = await sealed(dkimMessages.plain!, 'one.example', 'none')
  const twice = await sealed(once, 'two.example', 'pass')
  for (const copy of [once, twice]) t.match(await verifyArcWithDkimpy(copy, txt), { ok: true })
  t.match(await verifyArcWithDkimpy(Buffer.concat([twice, Buffer.from('x')]), txt), { ok: false })
})

t.test('what is worth no set gets none', async t => {
  const plain = dkimMessages.plain!
  const once = await sealed(plain, 'one.example', 'none')
  t.same(await sealed(once, 'two.example', 'fail'), once, 'a chain that failed')
  t.same(await sealed(once, 'two.example', 'none'), once, 'one that was not there when it came')
  t.same(await sealed(plain, 'two.example', 'pass'), plain, 'one that is gone')
  const broken = Buffer.concat([Buffer.from('ARC-Seal: i=1\r\n'), plain])
  t.same(await sealed(broken, 'two.example', 'pass'), broken)
  const nameless = Buffer.from('To: x@y.example\r\n\r\nx\r\n')
  t.same(await sealed(nameless, 'two.example', 'none'), nameless, 'nobody wrote it')
})

t.test('a change of anything that is sealed ends the chain', async t => {
  const copy = (
    await sealed(await sealed(dkimMessages.plain!, 'one.example', 'none'), 'two.example', 'pass')
  ).toString('latin1')
  const changes: [string, string][] = [
    ['Hello Bob', 'Hello Rob'],
    ['From: Ann', 'From: Eve'],
    ['i=1; mx.', 'i=1; my.'],
    ['i=2; mx.', 'i=2; my.'],
    ['cv=none', 'cv=pass'],
    ['cv=pass', 'cv=none'],
    ['cv=pass', 'cv=fail'],
    ['ARC-Seal: i=1', 'ARC-Seal: i=3'],
    ['ARC-Seal: i=1', 'X: i=1'],
    ['ARC-Authentication-Results: i=1', 'X: i=1'],
    ['ARC-Message-Signature: i=1', 'ARC-Message-Signature: i=2'],
    ['d=two.example', 'd=one.example'],
    ['t=1795262400', 't=1795262401'],
  ]
  for (const [from, to] of changes) {
    t.ok(copy.includes(from), from)
    t.match(
      await check(Buffer.from(copy.replace(from, to), 'latin1'), txt),
      { result: 'fail' },
      `${from} → ${to}`,
    )
  }
})

/** A set that is rightly signed, with what ours never have. */
async function sealedWith(raw: Buffer, bodyLength: number | undefined, inSeal: string): Promise<Buffer> {
  const part = { bodyForm: 'relaxed', bodyLength } as const
  const { fields, bodyHash } = await hashMessage(raw, () => [part])
  const signer = signerOf('one.example')
  const who = 'i=1; a=rsa-sha256; d=one.example; s=s1'
  const length = bodyLength === undefined ? '' : ` l=${bodyLength};`
  const results = 'ARC-Authentication-Results: i=1; mx.one.example; dmarc=pass'
  const unsigned = `ARC-Message-Signature: ${who}; c=relaxed/relaxed; h=from; bh=${bodyHash(part)!.digest};${length} b=`
  const text = signedText({ names: ['from'], headerForm: 'relaxed', unsigned }, fields)
  const message = `${unsigned}${await signText(text, signer)}`
  const open = `ARC-Seal: ${who}; cv=none;${inSeal} b=`
  const seal = `${open}${await signText(sealedText([{ results, message, seal: open }], { unsigned: open }), signer)}`
  return Buffer.concat([Buffer.from(`${seal}\r\n${message}\r\n${results}\r\n`), raw])
}

t.test('a right set of a part of the body is none, nor one whose seal signs more than its own', async t => {
  for (const [bodyLength, inSeal, result] of [
    [undefined, '', 'pass'],
    [5, '', 'fail'],
    [0, '', 'fail'],
    [undefined, ' h=from;', 'fail'],
    [undefined, ' bh=AAAA;', 'fail'],
  ] as const) {
    const copy = await sealedWith(dkimMessages.plain!, bodyLength, inSeal)
    t.match(await check(copy, txt), { result }, `l=${bodyLength}${inSeal}`)
  }
})

t.test('a long chain is asked about no more than it has sets, and a longer one not at all', async t => {
  const set = (i: number) =>
    ['ARC-Authentication-Results: i=N; x', 'ARC-Seal: i=N; CV', 'ARC-Message-Signature: i=N; h=from; bh=AAAA']
      .map(field => field.replace('N', `${i}`).replace('CV', `cv=${i === 1 ? 'none' : 'pass'}`))
      .map(field => (field.includes(' x') ? field : `${field}; a=rsa-sha256; d=d${i}.example; s=s; b=AAAA`))
      .join('\r\n')
  for (const count of [50, 51, 300]) {
    const sets = Array.from({ length: count }, (_, i) => `${set(i + 1)}\r\n`).join('')
    const { result, asked } = await check(Buffer.from(`${sets}From: a@b.example\r\n\r\nx\r\n`), {})
    t.equal(result, 'fail')
    const { fields } = await hashMessage(Buffer.from(sets), () => [])
    t.equal(readArcChain(fields) === 'fail', count > 50, `a chain of ${count}`)
    t.ok(asked.length <= 51, `${asked.length}`)
  }
})

interface ArcSuite {
  readonly tests: Record<string, { readonly message: string; readonly cv: string }>
  readonly 'txt-records': Readonly<Record<string, string>>
}
