import t, { type Test } from 'tap'
import { sha256Hex } from '../../lib/base/secrets.ts'
import { systemClock } from '../../lib/base/time.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { expireGreylist } from '../../lib/core/inbound/greylist.ts'
import { send } from '../../lib/core/outbound/send.ts'
import { putContacts } from '../../lib/store/contacts.ts'
import { putGreylistEntry } from '../../lib/store/greylist.ts'
import { countingMeter } from '../support/counted.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { openDoor } from '../support/smtp-door.ts'

async function openGreylisting(t: Test) {
  const { meter, counted } = countingMeter()
  let nowMs = Date.now()
  const clock = { ...systemClock, now: () => new Date(nowMs) }
  const door = await openDoor(t, {
    clock,
    meter,
    smtp: 'trusted_networks = ["127.0.9.0/24"]',
    toml: '[greylist]\nenabled = true\ndelay = "5m"\nkeep_for = "30d"',
  })
  const ask = async (address: string, mailFrom: string, rcptTo: string) => {
    const dialog = await greetedDialog(door.port, address)
    await dialog.say(`MAIL FROM:<${mailFrom}>`)
    const { text } = await dialog.say(`RCPT TO:<${rcptTo}>`)
    await dialog.say('QUIT')
    return text
  }
  /** So many senders that never came before, of the block 127.0.0.0/24. */
  const flood = async (count: number, name = '') => {
    const dialog = await greetedDialog(door.port, '127.0.0.1')
    for (let number = 0; number < count; number++) {
      await dialog.say(`MAIL FROM:<${name}${number}@b.example>`)
      await dialog.say(`RCPT TO:<${ann}>`)
      await dialog.say('RSET')
    }
    await dialog.say('QUIT')
  }
  const rows = () => door.app.store.read.selectFrom('greylistEntry').selectAll().execute()
  return { ...door, ask, flood, rows, counted, pass: (minutes: number) => (nowMs += minutes * 60_000) }
}

const ann = 'ann@ours.example'
const day = 24 * 60

t.test('a stranger is put off until it comes again, and is known then', async t => {
  const { ask, inbox, pass, app, rows, counted } = await openGreylisting(t)
  await inbox('ann')
  t.equal(
    await ask('127.0.0.1', 'bob@b.example', ann),
    '451 4.7.1 Greylisted; please try again in 300 seconds',
  )
  t.match(await ask('127.0.0.1', 'bob@b.example', 'nobody@ours.example'), /^550 5\.1\.1 /)
  pass(2)
  t.equal(
    await ask('127.0.0.2', 'Bob@b.example', 'ann+x@ours.example'),
    '451 4.7.1 Greylisted; please try again in 180 seconds',
  )
  pass(3)
  t.match(await ask('127.0.0.3', 'bob@b.example', ann), /^250 /, 'from another address of the block')
  t.match(await ask('127.0.0.1', 'eve@b.example', ann), /^451 /, 'another reverse-path')
  t.match(await ask('127.0.1.1', 'bob@b.example', ann), /^451 /, 'another block')
  t.match(await ask('127.0.0.1', '', ann), /^451 /, 'the null reverse-path is one, too')
  t.equal(counted.get('greylist_total deferred'), 5)
  t.equal(counted.get('greylist_total passed'), 1)
  // Each time that it comes its time begins anew.
  for (const days of [20, 20, 20]) {
    pass(days * day)
    t.match(await ask('127.0.0.1', 'bob@b.example', ann), /^250 /)
  }
  t.match(await ask('127.0.0.1', 'eve@b.example', ann), /^451 /, 'it came again too late')
  pass(31 * day)
  t.match(await ask('127.0.0.1', 'bob@b.example', ann), /^451 /, 'forgotten')
  pass(2 * day)
  while ((await expireGreylist(app)) > 0) t.pass('expired')
  t.strictSame(await rows(), [])
})

t.test('who is known passes at once', async t => {
  const { ask, inbox, pass, app, counted } = await openGreylisting(t)
  const id = await inbox('ann')
  await app.store.write(db => putContacts(db, id, ['friend@b.example'], app.clock.now().toISOString()))
  t.match(await ask('127.0.0.1', 'Friend@b.example', ann), /^250 /, 'the inbox has written with it')
  t.equal(counted.get('greylist_total known'), 1)
  t.match(await ask('127.0.9.1', 'new@b.example', ann), /^250 /, 'a trusted network')
  for (let count = 0; count < 5; count++) {
    t.match(await ask('127.0.0.1', `${count}@b.example`, ann), /^451 /)
    pass(6)
    t.match(await ask('127.0.0.1', `${count}@b.example`, ann), /^250 /)
  }
  t.match(await ask('127.0.0.99', 'never@b.example', ann), /^250 /, 'the block came again five times')
  t.match(await ask('127.0.1.1', 'never@b.example', ann), /^451 /)
})

t.test('whatever strangers say, the rows are bounded, and they fill their own', async t => {
  const { ask, inbox, flood, rows, pass } = await openGreylisting(t)
  await inbox('ann')
  t.match(await ask('127.0.5.1', 'bob@b.example', ann), /^451 /)
  await flood(100)
  t.equal((await rows()).length, 65)
  pass(6)
  t.match(await ask('127.0.5.1', 'bob@b.example', ann), /^250 /, 'another block is not touched')
})

t.test('who came again does not yield to who did not, how many of them there be', async t => {
  const { ask, inbox, flood, rows, pass } = await openGreylisting(t)
  await inbox('ann')
  const known = ['1', '2', '3', '4'].map(name => `${name}@known.example`)
  for (const mailFrom of known) t.match(await ask('127.0.0.1', mailFrom, ann), /^451 /)
  pass(6)
  for (const mailFrom of known) t.match(await ask('127.0.0.1', mailFrom, ann), /^250 /)
  await flood(200)
  t.equal((await rows()).length, 65)
  for (const mailFrom of known) t.match(await ask('127.0.0.1', mailFrom, ann), /^250 /, mailFrom)
  t.match(await ask('127.0.0.1', '199@b.example', ann), /^451 .* in 300 /)
})

t.test(
  'an honest sender comes through when it comes again, however many of its block keep coming',
  async t => {
    const { ask, inbox, flood, pass, rows } = await openGreylisting(t)
    await inbox('ann')
    t.match(await ask('127.0.0.7', 'early@honest.example', ann), /^451 .* in 300 /)
    await flood(70, 'first')
    pass(2)
    t.match(await ask('127.0.0.7', 'late@honest.example', ann), /^451 .* in 180 /, 'as who found room before')
    await flood(70, 'second')
    pass(3)
    await flood(70, 'third')
    t.match(await ask('127.0.0.7', 'early@honest.example', ann), /^250 /, 'it was not forgotten')
    t.match(await ask('127.0.0.7', 'late@honest.example', ann), /^250 /)
    t.equal((await rows()).length, 65, 'one of them that of the block, which came again once')
    pass(130)
    t.match(await ask('127.0.0.7', 'new@honest.example', ann), /^451 .* in 300 /, 'who came once gives way')
    await flood(70, 'fourth')
    pass(5)
    t.match(await ask('127.0.0.7', 'new@honest.example', ann), /^250 /)
  },
)

t.test(
  'where all places are those of who came again, a stranger is let in and not put off for ever',
  async t => {
    const { app, inbox, ask, pass, rows } = await openGreylisting(t)
    await inbox('ann')
    const date = app.clock.now()
    const bucket = Number.parseInt(sha256Hex('127.0.0.0/24').slice(0, 8), 16) % 1024
    const until = new Date(date.getTime() + 30 * 86_400_000).toISOString()
    for (let slot = bucket * 64; slot < bucket * 64 + 64; slot++) {
      const row = { slot, key: `${slot}`, passes: 1, firstSeenAt: date.toISOString(), expiresAt: until }
      await app.store.write(db => putGreylistEntry(db, row))
    }
    t.match(await ask('127.0.0.1', 'bob@b.example', ann), /^250 /)
    t.equal((await rows()).length, 64)
    pass(31 * day)
    t.match(await ask('127.0.0.1', 'bob@b.example', ann), /^451 /, 'there is room again')
  },
)

t.test('a block that is known does not yield to another of the same slot', async t => {
  const { app, inbox, ask, pass, rows } = await openGreylisting(t)
  await inbox('ann')
  const slot = 65_536 + (Number.parseInt(sha256Hex('127.0.0.0/24').slice(0, 8), 16) % 65_536)
  const firstSeenAt = app.clock.now().toISOString()
  const expiresAt = new Date(app.clock.now().getTime() + 30 * 86_400_000).toISOString()
  await app.store.write(db => putGreylistEntry(db, { slot, key: 'other', passes: 5, firstSeenAt, expiresAt }))
  t.match(await ask('127.0.0.1', 'bob@b.example', ann), /^451 /)
  pass(6)
  t.match(await ask('127.0.0.1', 'bob@b.example', ann), /^250 /)
  t.equal((await rows()).find(row => row.slot === slot)?.key, 'other')
})

t.test('it is kept by inbox, and what comes back to a reverse-path of ours is not asked', async t => {
  const { app, inbox, ask, pass, rows } = await openGreylisting(t)
  const annId = await inbox('ann')
  await inbox('carl')
  t.match(await ask('127.0.0.1', 'bob@b.example', ann), /^451 /)
  pass(6)
  t.match(await ask('127.0.0.1', 'bob@b.example', ann), /^250 /)
  t.match(await ask('127.0.0.1', 'bob@b.example', 'carl@ours.example'), /^451 /, 'another inbox')
  const before = await rows()
  const request = { to: 'bob@theirs.example', subject: 's', body: 'b' }
  await send(app, operator, annId, request, 'key')
  const { mailFrom } = await app.store.read
    .selectFrom('delivery')
    .select('mailFrom')
    .executeTakeFirstOrThrow()
  t.match(await ask('127.0.8.1', '', mailFrom ?? ''), /^250 /, 'what comes back of our own mail')
  t.strictSame(await rows(), before)
})

t.test('two that come at the same time are one', async t => {
  const { ask, inbox, rows, pass } = await openGreylisting(t)
  await inbox('ann')
  const both = () => Promise.all([1, 2, 3, 4].map(() => ask('127.0.0.1', 'bob@b.example', ann)))
  for (const text of await both()) t.match(text, /^451 /)
  pass(5)
  for (const text of await both()) t.match(text, /^250 /)
  t.strictSame(
    (await rows()).filter(row => row.slot >= 65_536).map(row => row.passes),
    [1],
    'the block came again once',
  )
})
