import { type RootOperationNode, sql } from 'kysely'
import t from 'tap'
import { systemClock } from '../../lib/base/time.ts'
import { countInScope, findInbox } from '../../lib/store/inboxes.ts'
import { listBytes, listedTextLength, listedTurnBytes } from '../../lib/store/listed-messages.ts'
import {
  findThreadIdByMessageId,
  listInboxMessages,
  listReceivedAs,
  listShownMessages,
  listThreadMessages,
} from '../../lib/store/messages.ts'
import { openStore } from '../../lib/store/open.ts'
import type { WholeMessage } from '../../lib/store/tables.ts'
import { addMessageToThread, findThread, listThreads, setThreadRead } from '../../lib/store/threads.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { turnsDuring } from '../support/event-loop.ts'
import { insertInboxRow, insertInstallation, insertMessageRow, insertThreadRow } from '../support/rows.ts'
import { watchedDb } from '../support/watched-db.ts'

const everything = { limit: 100, offset: 0 }

onEveryDatabase('where there is no inbox all is counted to none', async (t, store) => {
  await store.write(insertInstallation)
  const none = { inbound: 0, outbound: 0, threads: 0, unreadThreads: 0, storedKiB: 0 }
  for (const scope of [
    { podId: 'none', inboxId: null },
    { podId: null, inboxId: 'none' },
  ]) {
    const counted = Object.entries(await countInScope(store.read, scope))
    t.strictSame(Object.fromEntries(counted.map(([name, count]) => [name, Number(count)])), none)
  }
})

onEveryDatabase('messages: order, pages, directions and totals', async (t, store) => {
  const { pod, inbox } = await store.write(insertInstallation)
  const made = await store.write(async db => {
    const thread = await insertThreadRow(db, inbox.id)
    const other = await insertThreadRow(db, (await insertInboxRow(db, pod.id, 'other@example.com')).id)
    await insertMessageRow(db, other)
    const messages = []
    for (let index = 0; index < 7; index++) {
      messages.push(await insertMessageRow(db, thread, { direction: index % 3 ? 'inbound' : 'outbound' }))
    }
    return messages
  })
  const counted = (await findInbox(store.read, inbox.id))!
  const newestFirst = made.map(message => message.id).reverse()
  const all = await listInboxMessages(store.read, counted, { direction: undefined }, everything)
  t.strictSame([all.rows.map(row => row.id), all.total], [newestFirst, 7])
  const page = await listInboxMessages(store.read, counted, { direction: undefined }, { limit: 2, offset: 3 })
  t.strictSame([page.rows.map(row => row.id), page.total], [newestFirst.slice(3, 5), 7])
  const outbound = await listInboxMessages(store.read, counted, { direction: 'outbound' }, everything)
  t.strictSame([outbound.rows.length, outbound.total], [3, 3])
  const beyond = await listInboxMessages(
    store.read,
    counted,
    { direction: 'inbound' },
    { limit: 5, offset: 50 },
  )
  t.strictSame([beyond.rows, beyond.total], [[], 4])
  const newest = await listThreadMessages(store.read, made[0]!.threadId, 2)
  t.strictSame(
    newest.map(row => row.id),
    made.slice(-2).map(message => message.id),
    'the newest of a long thread, oldest first',
  )
})

onEveryDatabase('messages: long texts, whole within the budget and cut beyond it', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  const half = listBytes / 2
  const long = 'é'.repeat(half / 2)
  const extracted = JSON.stringify({ replyText: null, otp: '482913', links: [] })
  const attachments = JSON.stringify(
    Array.from({ length: 100 }, () => ({ filename: 'f'.repeat(50), contentType: 'a/b', sizeBytes: 1 })),
  )
  const { thread, made } = await store.write(async db => {
    const thread = await insertThreadRow(db, inbox.id)
    const changes: Partial<WholeMessage>[] = [
      { subject: 'oldest', bodyText: 'short', attachments },
      { subject: 'html', bodyHtml: long, bodyText: 'short', extracted },
      { subject: 'text', bodyText: long, extracted: JSON.stringify({ replyText: long }), attachments },
      { subject: 'references', references: JSON.stringify([`<${'x'.repeat(half)}>`]) },
      { subject: 'first', bodyText: long, bodyHtml: 'x'.repeat(half - 1000) },
      { subject: 'newest', bodyText: 'short', extracted },
    ]
    const made = []
    for (const some of changes)
      made.push(await insertMessageRow(db, thread, { direction: 'inbound', ...some }))
    return { thread, made }
  })
  const counted = (await findInbox(store.read, inbox.id))!
  const lists = {
    inbox: (await listInboxMessages(store.read, counted, { direction: undefined }, everything)).rows,
    direction: (await listInboxMessages(store.read, counted, { direction: 'inbound' }, everything)).rows,
    thread: (await listThreadMessages(store.read, thread.id, 100)).reverse(),
    found: await listShownMessages(
      store.read,
      made.map(row => row.id),
    ),
  }
  const beginning = 'é'.repeat(listedTextLength)
  for (const [name, rows] of Object.entries(lists)) {
    t.strictSame(
      rows.map(row => [row.subject, row.isCut ?? false, row.bodyText.length, row.bodyHtml.length]),
      [
        ['newest', false, 5, 0],
        ['first', false, long.length, half - 1000],
        ['references', true, made[3]!.bodyText.length, 0],
        ['text', true, listedTextLength, 0],
        ['html', true, 5, 0],
        ['oldest', true, 5, 0],
      ],
      name,
    )
    const [newest, , references, text, html] = rows
    t.strictSame({ ...newest, isCut: undefined }, { ...made[5], isCut: undefined }, 'a whole row is the row')
    t.equal(references!.references, '[]')
    t.strictSame([text!.bodyText, text!.attachments], [beginning, '[]'])
    t.strictSame(JSON.parse(text!.extracted!), { replyText: null, otp: null, links: [] })
    t.equal(html!.extracted, extracted, 'what is short stays')
    const bytes = Buffer.byteLength(JSON.stringify(rows))
    t.ok(bytes < listBytes + 100_000, `${bytes} bytes`)
  }
  const one = { limit: 1, offset: 4 }
  const [alone] = (await listInboxMessages(store.read, counted, { direction: undefined }, one)).rows
  t.strictSame([alone!.isCut, alone!.bodyHtml], [undefined, long], 'where it has room')
})

onEveryDatabase('messages: a reply that is the text is counted as told, twice', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  const bodyText = 'x'.repeat(listBytes * 0.4)
  const others = (count: number) => ({
    links: Array.from({ length: count }, () => ({ url: 'https://a.example/' })),
  })
  const listed = async (extracted: object) => {
    const id = await store.write(async db => {
      const thread = await insertThreadRow(db, inbox.id)
      await insertMessageRow(db, thread, {
        direction: 'inbound',
        subject: 'older',
        bodyText: 'y'.repeat(bodyText.length),
      })
      await insertMessageRow(db, thread, {
        direction: 'inbound',
        bodyText,
        extracted: JSON.stringify(extracted),
      })
      return thread.id
    })
    return (await listThreadMessages(store.read, id, 100)).map(row => row.isCut ?? false)
  }
  t.strictSame(await listed({ replyText: 'Yes', ...others(1) }), [false, false])
  t.strictSame(await listed({ replyText: null, ...others(1) }), [true, false], 'no room beside both')
  t.strictSame(await listed({ replyText: null, isTrimmed: true, ...others(1) }), [true, false])
  t.strictSame(await listed({ replyText: null, ...others(500) }), [true, false], 'a column that is not read')
})

onEveryDatabase('threads: the newest message first, read state and totals', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  const [one, two] = await store.write(async db => [
    await insertThreadRow(db, inbox.id, { lastMessageAt: '2026-01-01T00:00:00.000Z' }),
    await insertThreadRow(db, inbox.id, { lastMessageAt: '2026-01-02T00:00:00.000Z', isRead: 1 }),
  ])
  const idsOf = async (isRead?: boolean) => {
    const { rows, total } = await listThreads(store.read, inbox.id, { isRead }, everything)
    return [rows.map(row => row.id), total]
  }
  t.strictSame(await idsOf(), [[two.id, one.id], 2])
  t.strictSame(await idsOf(false), [[one.id], 1])
  t.strictSame(await idsOf(true), [[two.id], 1])

  await store.write(db =>
    addMessageToThread(db, one.id, {
      createdAt: '2026-01-03T00:00:00.000Z',
      isRead: false,
      participants: '[]',
    }),
  )
  t.strictSame(await idsOf(), [[one.id, two.id], 2])
  t.equal((await findThread(store.read, one.id))?.messageCount, 1)

  await store.write(async db => setThreadRead(db, (await findThread(db, one.id))!, true))
  await store.write(async db => setThreadRead(db, (await findThread(db, one.id))!, true))
  t.strictSame(await idsOf(false), [[], 0])
  t.strictSame(await idsOf(true), [[one.id, two.id], 2])
})

onEveryDatabase('a parent is found by Message-ID in its own inbox only', async (t, store) => {
  const { pod, inbox } = await store.write(insertInstallation)
  const { thread, message, other } = await store.write(async db => {
    const thread = await insertThreadRow(db, inbox.id)
    const other = await insertInboxRow(db, pod.id, 'other@example.com')
    return { thread, message: await insertMessageRow(db, thread), other }
  })
  t.equal(await findThreadIdByMessageId(store.read, inbox.id, message.rfcMessageId!), thread.id)
  t.equal(await findThreadIdByMessageId(store.read, other.id, message.rfcMessageId!), undefined)
  const { rfcMessageId } = message
  const own = await store.write(async db => {
    await insertMessageRow(db, await insertThreadRow(db, inbox.id), { rfcMessageId })
    t.equal(
      await findThreadIdByMessageId(db, inbox.id, rfcMessageId!),
      thread.id,
      'who comes later takes nothing',
    )
    const own = await insertThreadRow(db, inbox.id)
    await insertMessageRow(db, own, { rfcMessageId, direction: 'outbound' })
    return own
  })
  t.equal(
    await findThreadIdByMessageId(store.read, inbox.id, rfcMessageId!),
    own.id,
    'what it sent goes first',
  )
})

t.test('the list of a full inbox is read by its index', async t => {
  const store = await openStore(`${t.testdir({})}/plan.sqlite`, systemClock)
  t.teardown(() => store.close())
  const plan = await sql<{ detail: string }>`explain query plan
    select * from "message" where "id" in
      (select "id" from "message" where "inboxId" = 'x' order by "id" desc limit 50 offset 100000)
    order by "id" desc`.execute(store.read)
  const details = plan.rows.map(row => row.detail)
  t.ok(
    details.some(detail => /USING COVERING INDEX message_list/.test(detail)),
    details.join('\n'),
  )
  t.notOk(
    details.some(detail => /SCAN message(?! USING)/.test(detail)),
    details.join('\n'),
  )
})

t.test(
  'a message that is delivered again is looked for by its Message-ID, not among all of the inbox',
  async t => {
    const store = await openStore(`${t.testdir({})}/plan.sqlite`, systemClock)
    t.teardown(() => store.close())
    const nodes: RootOperationNode[] = []
    const watched = watchedDb(store.read, {
      transformQuery({ node }) {
        nodes.push(node)
        return node
      },
      transformResult: async ({ result }) => result,
    })
    await listReceivedAs(watched, { since: '' }, ['x'], ['<1@x.example>'])
    const { sql: text } = store.read.getExecutor().compileQuery(nodes[0]!, { queryId: 'plan' })
    const query = sql<{ detail: string }>`explain query plan ${sql.raw(text.replaceAll('?', 'null'))}`
    const details = (await query.execute(store.read)).rows.map(({ detail }) => detail)
    t.match(details[0], /USING INDEX message_rfcMessageId \(inboxId=\? AND rfcMessageId=\?\)/)
  },
)

onEveryDatabase('messages: many large pages at once leave turns to others', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  await store.write(async db => {
    const thread = await insertThreadRow(db, inbox.id)
    const bodyText = 'x'.repeat(listedTurnBytes)
    for (let made = 0; made < 3; made++)
      await insertMessageRow(db, thread, { direction: 'inbound', bodyText })
  })
  const counted = (await findInbox(store.read, inbox.id))!
  const list = () => listInboxMessages(store.read, counted, { direction: undefined }, everything)
  const { result, turns } = await turnsDuring(() => Promise.all(Array.from({ length: 20 }, list)))
  t.ok(result.every(({ rows }) => rows.length === 3))
  t.ok(turns >= 20, `${turns} turns`)
})
