import t from 'tap'
import { smtpMessagesPerSession, smtpPartingSessionsPerAddress } from '../../../lib/courier/smtp/pool.ts'
import type { SmtpTimeouts } from '../../../lib/courier/smtp/session.ts'
import { until } from '../../support/until.ts'
import { delivery, loopback, raw } from '../loopback.ts'
import type { Script } from './scripted-peer.ts'

t.test('one connection carries many messages, up to its share', async t => {
  const { courier, peers } = await loopback(t, [{}])
  for (let count = 0; count < smtpMessagesPerSession + 1; count++)
    t.equal((await courier.carry(delivery(), raw)).result, 'delivered')
  t.equal(peers[0]?.connections, 2)
  t.equal(peers[0]?.messages.length, smtpMessagesPerSession + 1)
  t.equal(peers[0]?.commands.filter(line => line === 'QUIT').length, 1)
})

t.test('two at a time are two connections, and both are used again', async t => {
  const { courier, peers } = await loopback(t, [{}])
  for (let round = 0; round < 3; round++)
    await Promise.all([courier.carry(delivery(), raw), courier.carry(delivery(), raw)])
  t.equal(peers[0]?.connections, 2)
})

t.test('QUIT after the idle time', async t => {
  const { courier, peers } = await loopback(t, [{}], { idleMs: 30 })
  await courier.carry(delivery(), raw)
  await until('QUIT', () => peers[0]?.commands.at(-1) === 'QUIT')
  await courier.carry(delivery(), raw)
  t.equal(peers[0]?.connections, 2)
})

t.test('RSET after a refusal, then the connection goes on', async t => {
  for (const script of [{ MAIL: '450 no' }, { RCPT: '550 no' }, { DATA: '451 no' }]) {
    let refused = 0
    const [verb, answer] = Object.entries(script)[0] ?? []
    if (verb === undefined) continue
    const once = () =>
      (refused++ === 0 ? answer : { MAIL: '250 ok', RCPT: '250 ok', DATA: '354 go' }[verb]) ?? ''
    const { courier, peers } = await loopback(t, [{ [verb]: once }])
    t.not((await courier.carry(delivery(), raw)).result, 'delivered')
    await until('RSET', () => peers[0]?.commands.at(-1) === 'RSET')
    // The answer to RSET is in our socket already, and read before those of DNS to the next message.
    t.match(await courier.carry(delivery(), raw), { result: 'delivered' })
    t.equal(peers[0]?.connections, 1)
  }
})

t.test('a peer that says yes to DATA and not 354 gets no message, and is left', async t => {
  for (const DATA of ['250 ok', '350 go on']) {
    const { courier, peers } = await loopback(t, [{ DATA }])
    for (let count = 0; count < 2; count++)
      t.match(await courier.carry(delivery(), raw), { result: 'transient', code: Number(DATA.slice(0, 3)) })
    t.equal(peers[0]?.connections, 2)
    t.equal(
      peers[0]?.commands.at(-1),
      'DATA',
      'nothing of the message, and no RSET that may be a part of one',
    )
  }
})

t.test('a peer that does not agree to RSET is left', async t => {
  const { courier, peers } = await loopback(t, [{ RCPT: '550 no', RSET: '500 what' }])
  await courier.carry(delivery(), raw)
  await until('RSET', () => peers[0]?.commands.at(-1) === 'RSET')
  await courier.carry(delivery(), raw)
  t.equal(peers[0]?.connections, 2)
})

t.test('a stale connection is no failure: the message goes over a fresh one', async t => {
  const second =
    (what: { say?: string; next: 'close' | 'reset' }, ok: string) =>
    (session: { messages: number; number: number }) =>
      session.number === 1 && session.messages > 0 ? what : ok
  const scripts = {
    'closed at MAIL': { MAIL: second({ next: 'close' }, '250 ok') },
    'reset at MAIL': { MAIL: second({ next: 'reset' }, '250 ok') },
    '421 at MAIL': { MAIL: second({ say: '421 4.4.2 idle too long', next: 'close' }, '250 ok') },
    'closed at DATA': { DATA: second({ next: 'close' }, '354 go') },
  }
  for (const [name, script] of Object.entries(scripts)) {
    const { courier, peers } = await loopback(t, [script])
    await courier.carry(delivery(), raw)
    t.match(await courier.carry(delivery(), raw), { result: 'delivered', address: '127.0.0.2' }, name)
    t.equal(peers[0]?.connections, 2, name)
    t.equal(peers[0]?.messages.length, 2, name)
  }
})

t.test('but lost with a part of the message sent is a failure', async t => {
  const { courier, peers } = await loopback(t, [
    { message: session => (session.messages > 1 ? { next: 'close' } : '250 ok') },
  ])
  await courier.carry(delivery(), raw)
  t.match(await courier.carry(delivery(), raw), { result: 'transient', enhanced: '4.4.2' })
  t.equal(peers[0]?.connections, 1)
})

t.test('a peer that closes while we wait costs nothing', async t => {
  const { courier, peers } = await loopback(t, [{ message: { say: '250 ok', next: 'close' } }])
  for (let count = 0; count < 5; count++) t.equal((await courier.carry(delivery(), raw)).result, 'delivered')
  t.equal(peers[0]?.connections, 5)
})

t.test('close says QUIT to idle connections', async t => {
  const { courier, peers } = await loopback(t, [{}])
  await courier.carry(delivery(), raw)
  await courier.close()
  t.equal(peers[0]?.commands.at(-1), 'QUIT')
})

t.test('and to those that a refusal was undone in', async t => {
  let refused = 0
  const { courier, peers } = await loopback(t, [{ RCPT: () => (refused++ < 2 ? '550 no' : '250 ok') }])
  const said = (verb: string) => peers[0]!.commands.filter(line => line === verb).length
  await Promise.all([courier.carry(delivery(), raw), courier.carry(delivery(), raw)])
  await until('RSET on both', () => said('RSET') === 2)
  // One of the two carries it; the other has waited since its RSET.
  t.match(await courier.carry(delivery(), raw), { result: 'delivered' })
  t.equal(peers[0]?.connections, 2)
  await courier.close()
  t.equal(said('QUIT'), 2, 'neither is cut off')
})

const share = smtpPartingSessionsPerAddress
const longMs = 1_000_000
const evil: Readonly<Record<string, Script>> = {
  'no answer to RSET': { RCPT: '550 no', RSET: { next: 'silence' } },
  'a byte after the other at RSET': { RCPT: '550 no', RSET: { next: 'drip' } },
  'a byte after the other at QUIT': { QUIT: { next: 'drip' } },
}

for (const [name, script] of Object.entries(evil)) {
  t.test(`no more connections than a share wait for a last word: ${name}`, async t => {
    const timeouts = { resetMs: longMs, quitMs: longMs } as SmtpTimeouts
    const { courier, peers } = await loopback(t, [script], { idleMs: 1, timeouts })
    for (let round = 0; round < 3; round++)
      await Promise.all(Array.from({ length: share }, () => courier.carry(delivery(), raw)))
    await until('its share', () => peers[0]!.open === share)
    t.ok(peers[0]!.connections > share, 'the others are ended at once')
    await courier.close()
    await until('none', () => peers[0]!.open === 0)
  })

  t.test(`nor do those wait for long: ${name}`, async t => {
    const timeouts = { commandMs: longMs, resetMs: 50, quitMs: 50 } as SmtpTimeouts
    const { courier, peers } = await loopback(t, [script], { idleMs: 1, timeouts })
    await courier.carry(delivery(), raw)
    await until('its end', () => peers[0]!.open === 0)
    t.equal(peers[0]!.connections, 1)
  })
}
