import t, { type Test } from 'tap'
import { operator } from '../../../lib/core/app/caller.ts'
import { namedAuthorsMax } from '../../../lib/core/inbound/receive.ts'
import { listAudit } from '../../../lib/core/policy/audit.ts'
import { replacePolicy } from '../../../lib/core/policy/rules.ts'
import { startDns } from '../../support/dns.ts'
import { greetedDialog } from '../../support/smtp-dialog.ts'
import { openDoor, type TestDoorSettings } from '../../support/smtp-door.ts'

async function setUp(t: Test, settings: TestDoorSettings = {}) {
  const door = await openDoor(t, settings)
  const dialog = await greetedDialog(door.port)
  const ann = await door.inbox('ann')
  const bea = await door.inbox('bea')
  return {
    ...door,
    ann,
    bea,
    /** Sends one and gives the reply to its end. */
    async mail(from: string, to: readonly string[], more: { mailFrom?: string; bytes?: number } = {}) {
      await dialog.envelope(more.mailFrom ?? from, ...to.map(name => `${name}@ours.example`))
      const reply = await dialog.data(
        `From: <${from}>\r\nSubject: s\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat((more.bytes ?? 0) / 1000)}x`,
      )
      return reply.text
    },
    async refusals() {
      const page = { limit: 100, offset: 0 }
      return (await listAudit(door.app, operator, {}, { action: 'refused' }, page)).rows
    },
    async tables() {
      const { read } = door.app.store
      const [raws, events] = [
        await read.selectFrom('raw').select('id').execute(),
        await read.selectFrom('event').select('type').execute(),
      ]
      return { raws: raws.length, events: events.length, messages: (await door.messages()).length }
    },
  }
}

const block = (...values: string[]) => ({
  inbound: { mode: 'inherit' as const, rules: values.map(value => ({ type: 'block' as const, value })) },
})
const allowOnly = (...values: string[]) => ({
  inbound: { mode: 'allowlist' as const, rules: values.map(value => ({ type: 'allow' as const, value })) },
})

t.test('refused mail is answered 250, dropped, and stands in the audit', async t => {
  const { app, ann, mail, refusals, tables, dataDir: _dataDir } = await setUp(t)
  await replacePolicy(app, operator, { inbox: ann }, block('*.evil.example'))
  t.match(await mail('x@evil.example', ['ann']), /^250 /)
  t.match(
    await mail('x@ok.example', ['ann'], { mailFrom: 'y@sub.evil.example' }),
    /^250 /,
    'the reverse-path',
  )
  t.match(await mail('x@evil.example', ['ann'], { mailFrom: 'y@ok.example', bytes: 400_000 }), /^250 /)
  t.strictSame(await tables(), { raws: 0, events: 0, messages: 0 })
  t.match(await refusals(), [
    { inboxId: ann, direction: 'inbound', address: 'x@evil.example', reason: 'blocked', keyId: null },
    { address: 'y@sub.evil.example', value: '*.evil.example' },
    { address: 'x@evil.example' },
  ])
  t.match(await mail('x@ok.example', ['ann']), /^250 /)
  t.strictSame(await tables(), { raws: 1, events: 1, messages: 1 })
})

t.test('each recipient has rules of their own', async t => {
  const { app, ann, bea, mail, refusals, messages } = await setUp(t, {
    toml: '[policy]\nrequire_authenticated_sender = false\nrefuse_with = "reject"',
  })
  await replacePolicy(app, operator, { inbox: ann }, block('evil.example'))
  await replacePolicy(app, operator, { inbox: bea }, allowOnly('friends.example'))
  t.match(await mail('x@ok.example', ['ann', 'bea']), /^250 /, 'one takes it')
  t.strictSame(
    (await messages()).map(message => message.inboxId),
    [ann],
  )
  t.match(await mail('x@evil.example', ['ann', 'bea']), /^550 5\.7\.1 /, 'nobody does')
  t.match(await mail('x@friends.example', ['ann', 'bea']), /^250 /)
  t.strictSame((await refusals()).map(one => [one.inboxId, one.reason]).reverse(), [
    [bea, 'not_allowed'],
    [ann, 'blocked'],
    [bea, 'not_allowed'],
  ])
  t.equal((await messages()).length, 3)
})

t.test('an allow rule takes a From only as authenticated', async t => {
  const dns = await startDns({
    'friends.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
    'others.example': { TXT: ['v=spf1 -all'] },
  })
  t.teardown(() => dns.close())
  const { app, ann, mail, messages, refusals } = await setUp(t, { dns: dns.server })
  await replacePolicy(app, operator, { inbox: ann }, allowOnly('friends.example', 'others.example'))
  await mail('bob@friends.example', ['ann'])
  await mail('bob@friends.example', ['ann'], { mailFrom: 'bob@others.example' })
  await mail('bob@others.example', ['ann'])
  t.strictSame(
    (await messages()).map(message => message.fromAddr),
    ['bob@friends.example'],
  )
  t.match(await refusals(), [
    { reason: 'unauthenticated', address: 'bob@others.example' },
    { reason: 'unauthenticated', address: 'bob@friends.example' },
  ])
})

t.test('no writing of From passes an allow rule as two people', async t => {
  const {
    app,
    ann,
    bea,
    mail: _mail,
    messages,
    raw,
    port,
  } = await setUp(t, {
    toml: '[policy]\nrequire_authenticated_sender = false',
  })
  await replacePolicy(app, operator, { inbox: ann }, allowOnly('trusted.com'))
  await replacePolicy(app, operator, { inbox: bea }, block('boss@trusted.com'))
  const dialog = await greetedDialog(port)
  const word = `=?utf-8?B?${Buffer.from('Boss <boss@trusted.com>').toString('base64')}?=`
  const forged = [
    `From: x: ${word};, a@evil.com`,
    `From: ${word}, a@evil.com`,
    `From: ${word}`,
    'From: a@evil.com, boss@trusted.com',
    'From: boss@trusted.com, a@evil.com',
    'From: a@evil.com\r\nFrom: boss@trusted.com',
    'From: boss@trusted.com\r\nFrom: a@evil.com',
    'From: a@evil.com\r\nFrom : boss@trusted.com',
    'From : boss@trusted.com',
    'From: <boss@trusted.com> <a@evil.com>',
    'From: team: boss@trusted.com;',
    'From: "x <boss@trusted.com',
    'From: boss@trusted.com@evil.com',
    'From: \x1b$B<a@evil.com>\x1b(B <boss@trusted.com>',
    'From: boss@trusted.com.',
    'From: a@xn--trusted-oka.com',
    'From: boss\x01@trusted.com',
    'From: bo\x7fss@trus\x0bted.com',
    'From: Boss <boss@trusted.com\u2028>',
    'Subject: none',
  ]
  const send = async (lines: string, name: string) => {
    await dialog.envelope('x@evil.com', `${name}@ours.example`)
    return (await dialog.data(`${lines}\r\n\r\nx`)).text
  }
  for (const lines of forged) {
    t.match(await send(lines, 'ann'), /^250 /)
    t.match(await send(`${lines}\r\nX: to bea`, 'bea'), /^250 /)
  }
  const kept = await messages()
  t.strictSame(
    kept.filter(message => message.inboxId === ann),
    [],
    'none is allowed',
  )
  // In these nobody is named, or another than who is blocked: an encoded word is never an address, and what stands behind two @ is none.
  const harmless = [0, 1, 2, 12, 15, 19].map(at => forged[at])
  const wholes = await Promise.all(kept.map(one => raw(one)))
  t.strictSame(
    wholes.map(whole => forged.find(lines => whole.includes(`${lines}\r\nX: to bea`))),
    harmless,
    'a rule that blocks looks at each that is named',
  )
  t.ok(kept.every(({ verdict, autoReplyable }) => verdict === 'spam' && autoReplyable === 0))
  t.notOk(kept.some(({ fromAddr }) => fromAddr === 'boss@trusted.com'))
  t.match(await send('From: Boss <boss@ｔrusted.com>', 'ann'), /^250 /)
  t.match((await messages()).at(-1), { inboxId: ann, fromAddr: 'boss@trusted.com', verdict: 'clean' })
  const many = (count: number) => Array.from({ length: count }, (_, at) => `a${at}@evil.com`).join(',\r\n ')
  t.match(await send(`From: ${many(namedAuthorsMax)}`, 'bea'), /^250 /)
  t.match(await send(`From: ${many(namedAuthorsMax)}\r\nFrom: boss@trusted.com`, 'bea'), /^554 5\.6\.0 /)
})

t.test('postmaster is reached through every allowlist, but not by who is blocked', async t => {
  const { app, mail, messages } = await setUp(t)
  await replacePolicy(
    app,
    operator,
    {},
    {
      inbound: { mode: 'allowlist', rules: [{ type: 'block', value: 'evil.example' }] },
    },
  )
  await mail('x@ok.example', ['postmaster', 'ann'])
  await mail('x@evil.example', ['postmaster'])
  t.strictSame(
    (await messages()).map(message => message.toAddr),
    ['postmaster@ours.example'],
  )
})
