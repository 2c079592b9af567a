import { randomUUID } from 'node:crypto'
import t from 'tap'
import { type Api, apiOf } from '../support/api.ts'
import { settledContradictions } from '../support/consistency.ts'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import { openDialog } from '../support/smtp-dialog.ts'

/** A whole number from `least` to `most`. */
const between = (least: number, most: number) => least + Math.floor(Math.random() * (most - least + 1))
const largeText = `${'x'.repeat(998)}\r\n`.repeat(600)

/** A message that says itself what it must look like; every tenth is large, so that it becomes a file. */
function inbound(index: number): { messageId: string; recipients: string[]; content: string } {
  const messageId = `<${randomUUID()}@client.example>`
  const recipients = index % 4 === 0 ? ['ann', 'bea'] : ['ann']
  const body = index % 10 === 0 ? largeText : `Number ${index}.\r\n`
  return { messageId, recipients, content: `Message-ID: ${messageId}\r\nSubject: n\r\n\r\n${body}end` }
}

type Inbound = ReturnType<typeof inbound>

/** Sends messages over one connection, one after the other, until none is left or the server is gone. */
async function work(port: number, queue: Inbound[], acknowledge: (message: Inbound) => void): Promise<void> {
  try {
    const dialog = await openDialog(port)
    await dialog.reply()
    await dialog.say('EHLO client.example')
    for (let message = queue.pop(); message; message = queue.pop()) {
      await dialog.envelope('bob@example.net', ...message.recipients.map(name => `${name}@ours.example`))
      const reply = await dialog.data(message.content)
      if (reply.code === 250) acknowledge(message)
    }
    dialog.vanish()
  } catch {
    // The daemon was killed: nothing was promised for what is under way.
  }
}

async function allMessages(api: Api, inboxId: string) {
  const all: { id: string; rfcMessageId: string }[] = []
  for (;;) {
    const { body } = await api.get(`/v1/inboxes/${inboxId}/messages?limit=100&offset=${all.length}`)
    all.push(...body.data)
    if (body.data.length === 0) return { all, total: body.total as number }
  }
}

/** An account key, and inboxes made with it. */
async function tenant(daemon: TestDaemon, ...names: string[]) {
  const { token } = await daemon.createKey()
  const api = apiOf(daemon.baseUrl, token)
  const ids: string[] = []
  for (const mailboxName of names) ids.push((await api.post('/v1/inboxes', { mailboxName })).body.id)
  return { token, api, ids }
}

t.test('killed while mail comes in: what got its 250 is there, once and whole', async t => {
  let daemon = await startDaemon(t)
  const { token, ids } = await tenant(daemon, 'ann', 'bea')
  const sent: Inbound[] = []
  const acknowledged = new Set<string>()
  const kills: number[] = []

  for (const [least, most] of [
    [5, 60],
    [61, 130],
    [131, 195],
  ] as const) {
    const queue = Array.from({ length: 200 }, (_, index) => inbound(index))
    sent.push(...queue)
    const killAfter = between(least, most)
    let seen = 0
    let killed: Promise<unknown> | undefined
    const acknowledge = ({ messageId }: Inbound) => {
      acknowledged.add(messageId)
      if (++seen === killAfter) killed = daemon.end('SIGKILL')
    }
    await Promise.all(Array.from({ length: 20 }, () => work(daemon.smtpPort, queue, acknowledge)))
    t.ok(killed, `killed after ${killAfter} replies of 250`)
    t.equal(await killed, 'SIGKILL')
    kills.push(seen)
    daemon = await daemon.restart()
    t.strictSame(
      await settledContradictions(daemon.dataDir),
      [],
      'after the restart nothing contradicts itself',
    )
  }

  const api = apiOf(daemon.baseUrl, token)
  const inboxes = { ann: await allMessages(api, ids[0]!), bea: await allMessages(api, ids[1]!) }
  for (const [name, { all, total }] of Object.entries(inboxes)) {
    t.equal(all.length, total, `${name}: as many as total says`)
    t.equal(new Set(all.map(message => message.rfcMessageId)).size, all.length, `${name}: each once`)
  }
  const idsOf = (name: 'ann' | 'bea') =>
    new Map(inboxes[name].all.map(message => [message.rfcMessageId, message.id]))
  const stored = { ann: idsOf('ann'), bea: idsOf('bea') }
  const missing: string[] = []
  const halved: string[] = []
  for (const { messageId, recipients } of sent) {
    const has = recipients.map(name => stored[name as 'ann' | 'bea'].has(messageId))
    if (acknowledged.has(messageId) && !has.every(Boolean)) missing.push(messageId)
    if (has.some(Boolean) && !has.every(Boolean)) halved.push(messageId)
  }
  t.strictSame(missing, [], `all ${acknowledged.size} that got their 250 are there`)
  t.strictSame(halved, [], 'no message is with one of its recipients and not with the other')
  t.comment(
    `replies of 250 seen at the kills: ${kills}; stored ${stored.ann.size}, promised ${acknowledged.size}`,
  )

  const differing: string[] = []
  for (const message of sent.filter(
    ({ content, messageId }) => content.length > 1000 && stored.ann.has(messageId),
  )) {
    const raw = await api.get(`/v1/messages/${stored.ann.get(message.messageId)}/raw`)
    if (raw.bytes.toString() !== `${message.content}\r\n`) differing.push(message.messageId)
  }
  t.strictSame(differing, [], 'the large ones are byte for byte what was sent')
  const last = inbound(1)
  await work(daemon.smtpPort, [last], () => acknowledged.add(last.messageId))
  t.ok(acknowledged.has(last.messageId), 'and it takes mail again')
})
