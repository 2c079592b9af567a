import t from 'tap'
import type { Arrival, Reception } from '../../../lib/core/inbound/arrival.ts'
import { prepareReception } from '../../../lib/core/inbound/receive.ts'
import { createReceiver } from '../../../lib/core/inbound/receiver.ts'
import { resolveRecipient } from '../../../lib/core/inbound/recipient.ts'
import { writeReceptions } from '../../../lib/core/inbound/write.ts'
import { gatherRows, noRows } from '../../../lib/store/dialect/left-rows.ts'
import { writeLeft } from '../../../lib/store/last-statements.ts'
import { startApi } from '../../support/api-app.ts'
import { watchedDb } from '../../support/watched-db.ts'

t.test('what comes together is written by few statements, each message as if it came alone', async t => {
  const { app, api } = await startApi(t)
  const names = Array.from({ length: 90 }, (_, n) => `reader${n}`)
  for (const mailboxName of names) t.equal((await api.post('/v1/inboxes', { mailboxName })).status, 201)
  const arrivalFor = async (to: readonly string[], header: string): Promise<Arrival> => ({
    sessionId: 's',
    mailFrom: 'bob@example.net',
    recipients: await Promise.all(to.map(name => resolveRecipient(app, `${name}@ours.example`))),
    content: {
      kind: 'memory',
      bytes: Buffer.from(`From: bob@example.net\r\nSubject: s\r\n${header}\r\nHello\r\n`),
    },
    peer: { kind: 'local' },
  })
  const prepare = async (to: readonly string[], header = '') =>
    prepareReception(createReceiver(app), await arrivalFor(to, header))
  const write = async (receptions: readonly Reception[]) => {
    let statements = 0
    let own = 0
    const written = await app.store.write(async db => {
      const watched = watchedDb(db, {
        transformQuery: ({ node }) => node,
        async transformResult({ result }) {
          statements++
          return result
        },
      })
      const left = noRows()
      gatherRows(watched, left)
      const all = await writeReceptions(app, watched, receptions)
      own = statements
      await writeLeft(watched, left)
      return all
    })
    return { own, statements, ids: written.map(one => ('ids' in one ? one.ids : one.refusal.text)) }
  }
  const inboxOf = async (name: string) => (await api.get(`/v1/inboxes/${name}@ours.example`)).body
  const threadsOf = async (name: string) =>
    (await api.get(`/v1/inboxes/${name}@ours.example/threads`)).body.data as {
      messageCount: number
      isRead: boolean
    }[]

  const single = await write([await prepare([names[0]!])])
  t.ok(single.own <= 6, `${single.own} statements for one that came alone`)
  t.ok(single.statements <= 10, `${single.statements} with the last ones of its transaction`)
  const twenty = await Promise.all(names.slice(0, 20).map(name => prepare([name])))
  const together = await write(twenty)
  t.ok(together.statements <= 20, `${together.statements} statements for twenty`)
  t.equal(new Set(together.ids.flat()).size, 20)
  const wide = await write([await prepare(names)])
  t.ok(wide.statements <= 30, `${wide.statements} statements for ninety inboxes`)
  t.equal(wide.ids[0]!.length, 90)
  t.equal((await threadsOf(names[0]!)).length, 3)
  t.equal((await threadsOf(names[50]!)).length, 1)

  const [last] = names.slice(-1)
  const conversation = [
    await prepare([last!], 'Message-ID: <one@example.net>\r\n'),
    await prepare([last!], 'Message-ID: <two@example.net>\r\nIn-Reply-To: <one@example.net>\r\n'),
    await prepare([last!, names[0]!], 'Message-ID: <three@example.net>\r\nReferences: <two@example.net>\r\n'),
  ]
  await write(conversation)
  t.match(
    await threadsOf(last!),
    [{ messageCount: 3 }, { messageCount: 1 }],
    'a reply finds what came with it',
  )
  await write([await prepare([last!], 'In-Reply-To: <three@example.net>\r\n')])
  t.match(await threadsOf(last!), [{ messageCount: 4, isRead: false }, { messageCount: 1 }])
  const lists = (await api.get(`/v1/inboxes/${last}@ours.example/messages`)).body
  t.equal(lists.total, 5)
  t.equal((await inboxOf(last!)).id, lists.data[0].inboxId)

  await write([
    await prepare([last!], 'Message-ID: <three@example.net>\r\n'),
    await prepare([last!], 'Message-ID: <four@example.net>\r\n'),
    await prepare([last!], 'Message-ID: <four@example.net>\r\nReferences: <three@example.net>\r\n'),
    await prepare([last!], 'In-Reply-To: <three@example.net>\r\n'),
    await prepare([last!], 'In-Reply-To: <four@example.net>\r\n'),
  ])
  t.same(
    (await threadsOf(last!)).map(thread => thread.messageCount).sort(),
    [1, 1, 2, 6],
    'who takes an id that another message has takes no reply to it, also where they come together',
  )

  const [gone, there] = [await prepare([names[1]!]), await prepare([names[2]!])]
  t.equal((await api.delete(`/v1/inboxes/${names[1]}@ours.example`)).status, 204)
  const both = await write([gone, there])
  t.match(both.ids, ['There is no such mailbox here', [/./]], 'one that is refused takes no other with it')
})
