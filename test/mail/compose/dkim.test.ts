import { execFile } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import t from 'tap'
import { sliceBytes } from '../../../lib/base/concurrency.ts'
import { composeMessage } from '../../../lib/mail/compose/compose.ts'
import { type DkimSigner, dkimRecord, generateDkimKey, signDkim } from '../../../lib/mail/compose/dkim.ts'
import { turnsDuring } from '../../support/event-loop.ts'
import { manyTimes } from '../../support/hostile.ts'
import { without } from '../../support/peers.ts'
import { dkimMessages } from './dkim-messages.ts'

const run = promisify(execFile)
const { privateKeyPem, publicKeyBase64 } = await generateDkimKey()
const signer: DkimSigner = {
  domain: 'example.com',
  selector: 'mbx1',
  privateKeyPem,
  signedAt: new Date('2025-11-21T12:00:00Z'),
}
const host = `${signer.selector}._domainkey.${signer.domain}`
const record = dkimRecord(publicKeyBase64)

/** The results of mailauth for the signatures of our domain; its other signatures do not matter. */
async function verify(raw: Buffer, name = host): Promise<string[]> {
  const resolver = async (asked: string): Promise<string[][]> => {
    if (asked !== name) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
    return [[record]]
  }
  const { results } = await dkimVerify(raw, { resolver })
  return results.filter(r => r.signingDomain === signer.domain).map(r => r.status.result)
}

const signed = new Map<string, Buffer>()
for (const [name, raw] of Object.entries(dkimMessages)) signed.set(name, await signDkim(raw, signer))

t.test('a key is RSA-2048 and its record carries it', async t => {
  const key = createPublicKey({ key: Buffer.from(publicKeyBase64, 'base64'), format: 'der', type: 'spki' })
  t.equal(key.asymmetricKeyDetails?.modulusLength, 2048)
  t.equal(record, `v=DKIM1; k=rsa; p=${publicKeyBase64}`)
  t.not((await generateDkimKey()).publicKeyBase64, publicKeyBase64)
})

t.test('the field stands first, the message after it is untouched, and no line is long', async t => {
  for (const [name, raw] of signed) {
    const original = dkimMessages[name]!
    t.ok(raw.subarray(raw.length - original.length).equals(original), name)
    const field = raw.subarray(0, raw.length - original.length).toString('latin1')
    t.match(
      field,
      /^DKIM-Signature: v=1; a=rsa-sha256; c=relaxed\/relaxed;\r\n\td=example\.com; s=mbx1; t=1763726400;/,
    )
    t.ok(field.endsWith('\r\n') && !/\r\n(?![\t]|$)/.test(field), `${name} is one field`)
    t.ok(
      field.split('\r\n').every(line => line.length <= 78),
      `${name} is folded`,
    )
  }
})

t.test(
  'however many fields there are, all are named, in lines that are full and at most 76 characters',
  async t => {
    const names = ['To', 'Content-Transfer-Encoding', 'List-Unsubscribe-Post', 'Cc']
    for (let count = 0; count < 24; count++) {
      // Where one line ends and the next begins is another place each time.
      const more = names.map((name, index) => `${name}: x\r\n`.repeat((count * (index + 1)) % 7)).join('')
      const original = Buffer.from(`From: a@example.com\r\n${more}\r\nbody\r\n`)
      const raw = await signDkim(original, signer)
      const field = raw.toString('latin1', 0, raw.length - original.length)
      const lines = /h=([^;]+;)/.exec(field)![1]!.split('\r\n\t')
      for (const [index, line] of lines.entries()) {
        t.ok(line.length <= 71, `${line.length}`)
        const next = lines[index + 1]?.split(':')[0]
        if (next) t.ok(line.length + next.length > 70, 'it ends where the next name has no room')
      }
      const listed = lines.join('').slice(0, -1).split(':')
      for (const name of names) {
        const stands = more.split(`${name}:`).length - 1
        const isOversigned = name !== 'List-Unsubscribe-Post'
        t.equal(listed.filter(one => one === name).length, stands + (isOversigned ? 1 : 0), name)
      }
      t.same(await verify(raw), ['pass'])
    }
  },
)

t.test('mailauth verifies', async t => {
  for (const [name, raw] of signed) t.same(await verify(raw), ['pass'], name)
})

t.test('dkimpy verifies', { skip: without('dkimpy') }, async t => {
  const script = [
    'import sys, dkim',
    'for path in sys.argv[2:]:',
    '  d = dkim.DKIM(open(path, "rb").read())',
    '  try: print(d.verify(dnsfunc=lambda name, timeout=5: sys.argv[1].encode()))',
    '  except dkim.DKIMException as e: print(e)',
  ].join('\n')
  const files = filesIn(t.testdir({}))
  // dkimpy keeps spaces before an end without CRLF, against §3.4.4; no message has that after SMTP.
  files.delete('no final line end after spaces')
  const { stdout } = await run('/usr/bin/python3', ['-c', script, record, ...files.values()])
  const results = stdout.trim().split('\n')
  for (const [i, name] of [...files.keys()].entries()) t.equal(results[i], 'True', name)
})

t.test('opendkim verifies', { skip: without('opendkim') }, async t => {
  const folder = t.testdir({ 'dns.txt': `${host} ${record}\n` })
  const files = filesIn(folder)
  writeFileSync(join(folder, 'opendkim.conf'), `Mode v\nTestDNSData file:${join(folder, 'dns.txt')}\n`)
  for (const [name, path] of files) {
    // In relaxed mode `opendkim -t` takes a body without a final line end for unsigned, whoever signed it.
    if (name.startsWith('no final line end')) continue
    const { stdout, stderr } = await run('/usr/sbin/opendkim', [
      '-x',
      join(folder, 'opendkim.conf'),
      '-t',
      path,
    ])
    t.match(stdout + stderr, /verification \(s=mbx1,? d=example\.com,?.*\) succeeded/, name)
  }
})

t.test('what we compose is signed and verifies', async t => {
  const { raw } = await composeMessage({
    id: '1',
    messageIdDomain: 'example.com',
    date: signer.signedAt,
    from: { address: 'ann@example.com', name: 'Ann Löwe' },
    to: [
      { address: 'bob@example.net', name: 'Bob Löwe' },
      { address: 'jürgen@exämple.net', name: '' },
    ],
    cc: [],
    replyTo: null,
    subject: 'Grüße  =?utf-8?Q?x?=',
    text: 'a\rb\nc \0\n\n',
    html: '<p>\n.\n</p>',
    inReplyTo: '<a@b>',
    references: ['<a@b>'],
    attachments: [{ filename: 'ä.bin', contentType: 'x/y', content: Buffer.from('\r\n\n\r') }],
    autoSubmitted: true,
  })
  t.same(await verify(await signDkim(raw, signer)), ['pass'])
})

t.test('what is added or changed on the way breaks the signature', async t => {
  const raw = signed.get('a reply')!
  const text = raw.toString('latin1')
  t.same(await verify(raw), ['pass'])
  for (const field of [
    'From: evil@example.org',
    'Reply-To: evil@example.org',
    'Subject: Pay now',
    'To: other@example.org',
    'Cc: other@example.org',
    'Date: Sat, 2 Jan 2027 00:00:00 +0000',
    'Message-ID: <2@example.org>',
    'In-Reply-To: <x@y>',
    'References: <x@y>',
    'MIME-Version: 1.0',
    'Content-Type: text/html',
    'Content-Transfer-Encoding: base64',
  ]) {
    t.not((await verify(Buffer.from(`${field}\r\n${text}`, 'latin1')))[0], 'pass', `${field} before`)
    const after = text.replace('\r\n\r\n', () => `\r\n${field}\r\n\r\n`)
    t.not((await verify(Buffer.from(after, 'latin1')))[0], 'pass', `${field} after`)
  }
  t.not((await verify(Buffer.from(text.replace('Hello', 'Hallo'), 'latin1')))[0], 'pass', 'subject')
  t.not((await verify(Buffer.from(`${text}more\r\n`, 'latin1')))[0], 'pass', 'body')
})

t.test('what a relay may add does not break it', async t => {
  const text = signed.get('plain')!.toString('latin1')
  const relayed = `Received: from a by b; Fri, 1 Jan 2027 00:00:01 +0000\r\nList-Id: <l.example.net>\r\n${text}\r\n\r\n`
  t.same(await verify(Buffer.from(relayed, 'latin1')), ['pass'])
})

t.test('what cannot be signed safely is refused', async t => {
  const from = 'From: a@example.com\r\n'
  const faulty = {
    'bare LF in the header': `From: a@example.com\nX: y\r\n\r\nx\r\n`,
    'bare CR in the header': `${from}X: y\rz\r\n\r\nx\r\n`,
    'bare LF in the body': `${from}\r\nx\ny\r\n`,
    'bare CR in the body': `${from}\r\nx\ry\r\n`,
    'CR CR LF': `${from}\r\nx\r\r\n`,
    'CR at the end': `${from}\r\nx\r`,
    'LF at the start of the body': `${from}\r\n\nx\r\n`,
    'no From': 'To: a@example.com\r\n\r\nx\r\n',
  }
  for (const [name, raw] of Object.entries(faulty)) await t.rejects(signDkim(Buffer.from(raw), signer), name)
  const raw = dkimMessages.plain!
  for (const bad of ['a;b', 'a b', 'a\r\nX: y', '', 'a..b', 'ä.example']) {
    await t.rejects(signDkim(raw, { ...signer, domain: bad }), `domain ${JSON.stringify(bad)}`)
    await t.rejects(signDkim(raw, { ...signer, selector: bad }), `selector ${JSON.stringify(bad)}`)
  }
  await t.rejects(signDkim(raw, { ...signer, privateKeyPem: 'no key' }))
})

t.test('the time is linear in what a stranger can send', async t => {
  const head = 'From: a@example.com\r\nSubject: x\r\n'
  const hostile = {
    'a line of spaces': `${head}\r\nx${' '.repeat(manyTimes)}y\r\n`,
    'blank lines, then text': `${head}\r\n${'\r\n'.repeat(manyTimes)}x\r\n`,
    'header of spaces': `${head}To: a${' '.repeat(manyTimes)}b\r\n\r\nx\r\n`,
    'name with spaces': `${head}a${' '.repeat(manyTimes)}b: x\r\n\r\nx\r\n`,
    'folded lines': `${head}To: a${'\r\n b'.repeat(manyTimes)}\r\n\r\nx\r\n`,
    'one field very often': `${head}${'To: a\r\n'.repeat(manyTimes)}\r\nx\r\n`,
    'lines without a colon': `${head}${'x\r\n'.repeat(manyTimes)}\r\nx\r\n`,
  }
  for (const [name, text] of Object.entries(hostile)) {
    const raw = Buffer.from(text)
    const result = await signDkim(raw, signer)
    t.ok(result.subarray(-raw.length).equals(raw), name)
  }
})

t.test('25 MB are signed without blocking the event loop', async t => {
  const line = `${'QUJD'.repeat(19)}\r\n`
  const raw = Buffer.from(
    `From: a@example.com\r\n\r\n${line.repeat(Math.ceil((25 * 1024 * 1024) / line.length))}`,
  )
  const { result, turns } = await turnsDuring(() => signDkim(raw, signer))
  t.ok(turns >= Math.floor(raw.length / sliceBytes), `${turns} turns`)
  t.same(await verify(result), ['pass'])
})

/** Each signed message as a file in `folder`, by name. */
function filesIn(folder: string): Map<string, string> {
  return new Map(
    [...signed].map(([name, raw], i) => {
      const path = join(folder, `${i}.eml`)
      writeFileSync(path, raw)
      return [name, path]
    }),
  )
}
