import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { deleteInbox } from '../../../lib/core/account/inboxes.ts'
import { purgeDeletedInboxes } from '../../../lib/core/account/purge.ts'
import type { App } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { sweepRows } from '../../../lib/store/sweeps.ts'
import { greetedDialog } from '../../support/smtp-dialog.ts'
import { openDoor } from '../../support/smtp-door.ts'

async function purgeAll(app: App): Promise<number[]> {
  const counts: number[] = []
  for (let count = await purgeDeletedInboxes(app); count > 0; count = await purgeDeletedInboxes(app)) {
    counts.push(count)
  }
  return counts
}

async function countsOf(app: App) {
  const { read } = app.store
  const tables = ['message', 'thread', 'delivery', 'queueEntry', 'raw'] as const
  const counts: Record<string, number> = {}
  for (const table of tables) {
    const { n } = await read
      .selectFrom(table)
      .select(eb => eb.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow()
    counts[table] = n
  }
  return counts
}

const filesIn = (dir: string) =>
  readdirSync(dir, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile()).length

async function setUp(t: Test) {
  const door = await openDoor(t)
  const dialog = await greetedDialog(door.port)
  const receive = async (subject: string, bytes: number, ...names: string[]) => {
    await dialog.envelope('bob@example.net', ...names.map(name => `${name}@ours.example`))
    const reply = await dialog.data(
      `From: bob@example.net\r\nSubject: ${subject}\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat(bytes / 1000)}x`,
    )
    if (reply.code !== 250) throw new Error(reply.text)
  }
  return { ...door, receive }
}

t.test('a deleted inbox leaves nothing but its row; what others share stays', async t => {
  const { app, inbox, receive, messages, raw, dataDir } = await setUp(t)
  const [ann, bea] = [await inbox('ann'), await inbox('bea')]
  await receive('to ann', 0, 'ann')
  await receive('to ann, large', 400_000, 'ann')
  await receive('to both', 0, 'ann', 'bea')
  await receive('to both, large', 400_000, 'ann', 'bea')
  await receive('to bea', 0, 'bea')
  const request = { to: 'carol@elsewhere.example', subject: 'out', body: 'Hello' }
  await send(app, operator, ann, request, 'one')
  await send(app, operator, bea, request, 'two')
  t.strictSame(await countsOf(app), { message: 9, thread: 9, delivery: 2, queueEntry: 2, raw: 7 })
  t.equal(filesIn(join(dataDir, 'raw')), 2)

  t.strictSame(await purgeAll(app), [], 'nobody is deleted')
  await deleteInbox(app, operator, ann)
  const counts = await purgeAll(app)
  t.strictSame(counts, [5, 5, 2, 1], 'messages, threads, acquaintances, and the mark that it is done')
  t.strictSame(await countsOf(app), { message: 4, thread: 4, delivery: 1, queueEntry: 1, raw: 4 })
  t.equal(filesIn(join(dataDir, 'raw')), 1)
  const left = await messages()
  t.strictSame(
    left.map(message => [message.toAddr, message.subject]),
    [
      ['bea@ours.example', 'to both'],
      ['bea@ours.example', 'to both, large'],
      ['bea@ours.example', 'to bea'],
    ],
  )
  for (const message of left) t.match((await raw(message)).toString(), `\r\nSubject: ${message.subject}\r\n`)
  const rows = await app.store.read.selectFrom('inbox').selectAll().where('id', '=', ann).execute()
  t.match(rows, [{ address: 'ann@ours.example', deletedAt: /^2/, purgedAt: /^2/ }])

  await deleteInbox(app, operator, bea)
  await purgeAll(app)
  t.strictSame(await countsOf(app), { message: 0, thread: 0, delivery: 0, queueEntry: 0, raw: 0 })
  t.equal(filesIn(join(dataDir, 'raw')), 0)
  t.strictSame(await purgeAll(app), [])
})

t.test('a large inbox goes in steps, so that no write is long', async t => {
  const { app, inbox, receive } = await setUp(t)
  const ann = await inbox('ann')
  const count = sweepRows + 5
  for (let made = 0; made < count; made++) await receive(`number ${made}`, 0, 'ann')
  await deleteInbox(app, operator, ann)
  t.strictSame(await purgeAll(app), [sweepRows, 5, sweepRows, 5, 1, 1])
  t.strictSame(await countsOf(app), { message: 0, thread: 0, delivery: 0, queueEntry: 0, raw: 0 })
})
