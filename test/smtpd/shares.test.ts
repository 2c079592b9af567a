import t from 'tap'
import { systemClock } from '../../lib/base/time.ts'
import { createShares } from '../../lib/smtpd/shares.ts'
import { greetedDialog, openDialog } from '../support/smtp-dialog.ts'
import { openDoor } from '../support/smtp-door.ts'
import { until } from '../support/until.ts'

/** For whom no minute passes, however slow the machine is. */
const standing = { ...systemClock, monotonicMs: () => 0 }

t.test('ten addresses of one block do not use up the connections of all', async t => {
  const { port } = await openDoor(t, {
    smtp: 'max_connections = 20\nmax_connections_per_address = 3\nmax_connections_per_block = 6',
  })
  const codes: number[] = []
  const open: Awaited<ReturnType<typeof openDialog>>[] = []
  for (let last = 1; last <= 10; last++) {
    for (let count = 0; count < 2; count++) {
      const dialog = await openDialog(port, `127.0.0.${last}`)
      open.push(dialog)
      codes.push((await dialog.reply()).code)
    }
  }
  t.strictSame(
    codes.map(code => code === 220),
    codes.map((_code, index) => index < 6),
    'six of the block have a place, and nobody else of it',
  )
  t.match((await (await openDialog(port, '127.0.1.1')).reply()).code, 220, 'another block has its own')
  open[0]!.vanish()
  await until('a place of the block free again', async () => {
    const dialog = await openDialog(port, '127.0.0.77')
    return (await dialog.reply()).code === 220
  })
})

t.test('connections a minute, of an address and of a block', async t => {
  const { port, log } = await openDoor(t, {
    clock: standing,
    smtp: 'connections_per_minute_per_address = 3\nconnections_per_minute_per_block = 5\ntrusted_networks = ["127.0.9.0/24"]',
  })
  const code = async (address: string) => {
    const dialog = await openDialog(port, address)
    const { text } = await dialog.reply()
    dialog.vanish()
    return text.slice(0, 9)
  }
  const from = async (...addresses: string[]) => {
    const codes: string[] = []
    for (const address of addresses) codes.push(await code(address))
    return codes
  }
  const yes = '220 mail.'
  const no = '421 4.7.0'
  t.strictSame(await from(...Array(4).fill('127.0.0.5')), [yes, yes, yes, no])
  t.strictSame(await from('127.0.0.6', '127.0.0.7', '127.0.0.8'), [yes, yes, no], 'the block has had five')
  t.strictSame(await from('127.0.1.5'), [yes])
  t.strictSame(await from(...Array(8).fill('127.0.9.1')), Array(8).fill(yes), 'who is trusted')
  t.equal(
    log.filter(({ msg }) => msg === 'SMTP connections were turned away').length,
    1,
    'the log says it once, not each time',
  )
})

t.test('messages a minute, in one session or in many', async t => {
  const { port, inbox, messages } = await openDoor(t, {
    clock: standing,
    smtp: 'messages_per_minute_per_address = 3\nmessages_per_minute_per_block = 5\ntrusted_networks = ["127.0.9.0/24"]',
  })
  await inbox('ann')
  const send = async (address: string, times: number) => {
    const dialog = await greetedDialog(port, address)
    const codes: string[] = []
    for (let count = 0; count < times; count++) {
      const mail = await dialog.say('MAIL FROM:<bob@example.net>')
      codes.push(mail.text.slice(0, 9))
      if (mail.code !== 250) continue
      await dialog.say('RCPT TO:<ann@ours.example>')
      await dialog.say('DATA')
      await dialog.data('Subject: x\r\n\r\ny')
    }
    await dialog.say('QUIT')
    return codes
  }
  const yes = '250 2.1.0'
  const no = '450 4.7.1'
  t.strictSame(await send('127.0.0.1', 4), [yes, yes, yes, no])
  t.strictSame(await send('127.0.0.1', 1), [no], 'nor in another session')
  t.strictSame(await send('127.0.0.2', 3), [yes, yes, no], 'the block has had five')
  t.strictSame(await send('127.0.1.1', 1), [yes])
  t.strictSame(await send('127.0.9.1', 7), Array(7).fill(yes))
  t.equal((await messages()).length, 13)
})

t.test('bytes a minute: the size that MAIL announces, and the bytes that come above it', async t => {
  const { port, inbox, messages } = await openDoor(t, {
    clock: standing,
    smtp: 'bytes_per_minute_per_address = 20000\nbytes_per_minute_per_block = 30000\ntrusted_networks = ["127.0.9.0/24"]',
  })
  await inbox('ann')
  const send = async (address: string, sizeBytes: number, announced?: number) => {
    const dialog = await greetedDialog(port, address)
    const size = announced === undefined ? '' : ` SIZE=${announced}`
    const mail = await dialog.say(`MAIL FROM:<bob@example.net>${size}`)
    if (mail.code !== 250) return `MAIL ${mail.text.slice(0, 9)}`
    await dialog.say('RCPT TO:<ann@ours.example>')
    await dialog.say('DATA')
    const head = 'Subject: x\r\n\r\n'
    const end = await dialog.data(head + 'yyyyyyyy\r\n'.repeat(Math.ceil((sizeBytes - head.length) / 10)))
    await dialog.say('QUIT')
    return end.text.slice(0, 9)
  }
  t.equal(await send('127.0.0.1', 9000, 9000), '250 2.6.0')
  t.equal(await send('127.0.0.1', 9000), '250 2.6.0', 'without a size it is counted when it is there')
  t.equal(await send('127.0.0.1', 9000, 9000), 'MAIL 450 4.7.1')
  t.equal(await send('127.0.0.1', 9000, 10), '450 4.7.1', 'whatever was announced')
  t.equal(await send('127.0.0.1', 100, 100), '250 2.6.0', 'a small one has room')
  t.equal(await send('127.0.0.1', 100), 'MAIL 450 4.7.1', 'without a size one counts as 4 KiB at least')
  t.equal(await send('127.0.0.2', 9000, 9000), '250 2.6.0')
  t.equal(await send('127.0.0.3', 9000, 9000), 'MAIL 450 4.7.1', 'the block has had its bytes')
  t.equal(
    await send('127.0.1.1', 50_000, 50_020),
    '250 2.6.0',
    'one that is larger than a minute is let in alone',
  )
  t.equal(await send('127.0.9.1', 90_000), '250 2.6.0')
  t.equal((await messages()).length, 6)
})

const unbounded = {
  max_connections: 1000,
  max_connections_per_address: 1000,
  max_connections_per_block: 1000,
  connections_per_minute_per_address: 0,
  connections_per_minute_per_block: 0,
  messages_per_minute_per_address: 0,
  messages_per_minute_per_block: 0,
  bytes_per_minute_per_address: 0,
  bytes_per_minute_per_block: 0,
  trusted_networks: [],
}

t.test('who is turned away takes no place of its block', async t => {
  const bounds = { ...unbounded, max_connections_per_address: 1, max_connections_per_block: 2 }
  const shares = createShares(bounds, standing)
  const isLetIn = (address: string) => 'release' in shares.connect(address)
  t.strictSame(
    [1, 2, 3, 4].map(() => isLetIn('192.0.2.1')),
    [true, false, false, false],
  )
  t.ok(isLetIn('192.0.2.2'), 'the second place was there for another')
  t.notOk(isLetIn('192.0.2.3'), 'and a third is not')
})

t.test('a minute later there is room again', async t => {
  let nowMs = 0
  const clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs }
  const shares = createShares({ ...unbounded, connections_per_minute_per_address: 2 }, clock)
  const isLetIn = (address: string) => 'release' in shares.connect(address)
  t.strictSame(
    [1, 2, 3].map(() => isLetIn('2001:db8::1')),
    [true, true, false],
  )
  t.notOk(isLetIn('2001:db8::2'), 'the same /64')
  t.ok(isLetIn('2001:db8:0:1::1'))
  nowMs = 60_000
  t.strictSame(
    [1, 2, 3].map(() => isLetIn('2001:db8::1')),
    [true, true, false],
  )
  for (let count = 0; count < 5000; count++) shares.takeMessage('2001:db8::1', 1e9)
})
