import t from 'tap'
import { operator } from '../../../lib/core/app/caller.ts'
import { deleteMessage } from '../../../lib/core/mailbox/deletion.ts'
import { getMessage, listInboxMessages } from '../../../lib/core/mailbox/messages.ts'
import { indexed } from '../../support/indexed.ts'
import { submit } from '../../support/smtp-client.ts'
import { openDoor, type TestDoor } from '../../support/smtp-door.ts'

function receive(door: TestDoor, content: string, to: readonly string[]): Promise<string> {
  const raw = content.replaceAll('\n', '\r\n')
  return submit('127.0.0.1', door.port, { from: 'bob@theirs.example', to, raw })
}

const page = { limit: 10, offset: 0 }

t.test(
  'what a message says is kept once, however many inboxes it went to, until the last of them',
  async t => {
    const door = await openDoor(t)
    const { app } = door
    const names = Array.from({ length: 5 }, (_, n) => `box${n}`)
    const inboxes: string[] = []
    for (const name of names) inboxes.push(await door.inbox(name))
    const words = Array.from({ length: 3000 }, (_, n) => `word${n}`).join(' ')
    const content = `From: bob@theirs.example\nSubject: to many\n\n${words.replaceAll(/(.{60}\S*) /g, '$1\n')}\n`
    t.match(
      await receive(
        door,
        content,
        names.map(name => `${name}@ours.example`),
      ),
      /^250/,
    )
    const count = async () => (await app.store.read.selectFrom('reading').select('id').execute()).length
    const messages = await door.messages()
    t.equal(messages.length, 5)
    t.equal(await count(), 1)
    t.equal(new Set(messages.map(({ bodyText }) => bodyText)).size, 1)

    const find = async (inboxId: string, q: string) =>
      (await listInboxMessages(app, operator, inboxId, { q, direction: undefined }, page)).total
    const found = async (q: string) => {
      const totals: number[] = []
      for (const id of inboxes) totals.push(await find(id, q))
      return totals
    }
    t.strictSame(await found('word2999'), [0, 0, 0, 0, 0], 'the index follows')
    await deleteMessage(app, operator, messages[4]!.id)
    await indexed(app.store)
    t.strictSame(await found('to many theirs'), [1, 1, 1, 1, 0])
    t.strictSame(await found('word2999'), [1, 1, 1, 1, 0])
    t.strictSame(await found('many'), [1, 1, 1, 1, 0], 'once each')

    for (const [left, { id }] of messages.slice(0, 4).entries()) {
      t.equal(await count(), 1, `${4 - left} left`)
      await deleteMessage(app, operator, id)
    }
    t.equal(await count(), 0)
    t.strictSame(await app.store.read.selectFrom('raw').select('id').execute(), [])
  },
)

t.test('a message that no reader survives is stored, answered 250, and marked', async t => {
  const door = await openDoor(t, { toml: '[reading]\nmemory = 33554432' })
  const { app } = door
  await door.inbox('ann')
  const parts = Array.from(
    { length: 8 },
    () => `--b\nContent-Type: text/html; charset=utf-8\n\n${'<p>é<b>\n'.repeat(200_000)}\n`,
  )
  const poison = `From: Bob <bob@theirs.example>\nSubject: too much\nContent-Type: multipart/mixed; boundary=b\n\n${parts.join('')}--b--`
  const [answer, other] = await Promise.all([
    receive(door, poison, ['ann@ours.example']),
    receive(door, 'From: eve@theirs.example\nSubject: letter\n\nHello', ['ann@ours.example']),
  ])
  t.match(answer, /^250/)
  t.match(other, /^250/)
  const rows = await door.messages()
  const marked = rows.find(({ subject }) => subject === 'too much')!
  t.match(await getMessage(app, operator, marked.id), {
    fromAddr: 'bob@theirs.example',
    addressNames: { 'bob@theirs.example': 'Bob' },
    bodyText: '',
    parseProblems: [/memory/],
    // Nobody proved who wrote it.
    verdict: 'spam',
    autoReplyable: false,
  })
  t.equal((await door.raw(marked)).length, Buffer.byteLength(poison.replaceAll('\n', '\r\n')) + 2)
  const letter = rows.find(({ subject }) => subject === 'letter')!
  t.match(await getMessage(app, operator, letter.id), { parseProblems: [], verdict: 'clean' })
  t.ok(door.log.some(({ msg }) => msg === 'a reading thread ended'))
})
