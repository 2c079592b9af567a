import t from 'tap'
import type { Scope } from '../../../lib/base/ids.ts'
import { systemClock } from '../../../lib/base/time.ts'
import type { WriteDb } from '../../../lib/store/dialect/dialect.ts'
import { deleteInbox } from '../../../lib/store/inboxes.ts'
import { openStore, type Store } from '../../../lib/store/open.ts'
import { deleteMessages } from '../../../lib/store/removal.ts'
import type { SearchFilter } from '../../../lib/store/search/filter.ts'
import {
  searchEarliest,
  searchMatches,
  searchMessages,
  searchThreads,
} from '../../../lib/store/search/search.ts'
import { listEarliestWaiting } from '../../../lib/store/search/waiting.ts'
import { wholeMessages } from '../../../lib/store/search/whole-messages.ts'
import { indexTokens, readTerms, searchWords } from '../../../lib/store/search/words.ts'
import type { MessageRow, WholeMessage } from '../../../lib/store/tables.ts'
import { dropUnindexed, listUnindexed, putIntoIndex } from '../../../lib/store/unindexed-bodies.ts'
import { onEveryDatabase } from '../../support/databases.ts'
import {
  insertInboxRow,
  insertInstallation,
  insertMessageRow,
  insertPodRow,
  insertThreadRow,
  insertUnindexedRow,
} from '../../support/rows.ts'
import { watchedDb } from '../../support/watched-db.ts'

const account: Scope = { podId: null, inboxId: null }
const everything = { limit: 100, offset: 0 }

/** The subjects of what is found, newest first; throws when `total` says another number. */
async function found(store: Store, filter: SearchFilter, scope = account): Promise<string[]> {
  const { rows, total } = await searchMessages(store.read, scope, filter, everything)
  if (rows.length !== total) throw new Error(`${rows.length} rows, total ${total}`)
  return subjectsOf(store, rows)
}

async function subjectsOf(store: Store, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const messages = await wholeMessages(store.read).where('message.id', 'in', ids).execute()
  const rows = new Map(messages.map(row => [row.id, row.subject]))
  return ids.map(id => rows.get(id)!)
}

const second = (n: number) => `2026-01-02T03:04:${String(n).padStart(2, '0')}.000Z`

async function insertAll(db: WriteDb, inboxId: string, changes: readonly Partial<WholeMessage>[]) {
  const rows: MessageRow[] = []
  for (const [index, change] of changes.entries()) {
    const thread = await insertThreadRow(db, inboxId, { lastMessageAt: second(index) })
    rows.push(await insertMessageRow(db, thread, { bodyText: '', createdAt: second(index), ...change }))
  }
  return rows
}

onEveryDatabase('words, phrases, exclusions; accents and case do not count', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  await store.write(db =>
    insertAll(db, inbox.id, [
      { subject: 'Quarterly report', bodyText: 'The figures of the Zürich office are attached.' },
      { subject: 'Lunch?', bodyText: "Don't forget: report to the office at noon" },
      { subject: 'Crème brûlée', bodyText: 'recipe inside', fromAddr: 'chef@cuisine.example' },
    ]),
  )
  for (const [q, subjects] of [
    ['report', ['Lunch?', 'Quarterly report']],
    ['REPORT zurich', ['Quarterly report']],
    ['office report', ['Lunch?', 'Quarterly report']],
    ['"report to the office"', ['Lunch?']],
    ['"office report"', []],
    ['report -lunch', ['Quarterly report']],
    ['-report', ['Crème brûlée']],
    ['report -"the office"', ['Quarterly report']],
    ['creme BRULEE', ['Crème brûlée']],
    ["don't", ['Lunch?']],
    ['chef@cuisine.example', ['Crème brûlée']],
    ['repor', []],
    ['"brulee recipe"', []],
    ['', ['Crème brûlée', 'Lunch?', 'Quarterly report']],
    ['!!!', []],
  ] as const) {
    t.strictSame(await found(store, { q }), subjects, q)
  }
})

onEveryDatabase('a phrase is of one text, and each of its words follows the one before', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  const long = Array.from({ length: 300 }, (_, n) => `n${n} often`).join(' ')
  await store.write(db =>
    insertAll(db, inbox.id, [
      {
        subject: 'third fourth fifth',
        fromAddr: 'alpha@beta.example',
        toAddr: 'gamma@delta.test',
        bodyText: `sixth seventh eighth ${long} last`,
      },
    ]),
  )
  const texts = ['alpha beta example', 'gamma delta test', 'third fourth fifth', 'sixth seventh eighth']
  const holds = async (phrase: string) => (await found(store, { q: `"${phrase}"` })).length === 1
  for (const text of texts) {
    const words = text.split(' ')
    for (const [at, word] of words.entries()) {
      for (const [to, other] of words.entries())
        t.equal(await holds(`${word} ${other}`), to === at + 1, `${word} ${other}`)
    }
    t.ok(await holds(text), text)
    for (const other of texts) {
      if (other === text) continue
      const [end, begin] = [words.at(-1), other.split(' ')[0]]
      t.notOk(await holds(`${end} ${begin}`), `${end} ${begin}`)
    }
  }
  t.equal((await found(store, { q: 'often n299 last' })).length, 1, 'however often one of them is there')
})

onEveryDatabase('any language, also without spaces', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  const texts = {
    zh: '请查收附件中的发票，谢谢。',
    ja: '東京都庁でお会いしましょう。カレーが食べたい',
    ko: '안녕하세요 회의는 내일입니다',
    ru: 'Счёт за Ёлку приложен',
    ar: 'مرحبا بكم في القاهرة',
    hi: 'नमस्ते दुनिया',
    th: 'สวัสดีชาวโลก',
    el: 'Καλημέρα κόσμε',
    de: 'Straße über 東京 Flughafen',
  }
  await store.write(db =>
    insertAll(
      db,
      inbox.id,
      Object.entries(texts).map(([subject, bodyText]) => ({ subject, bodyText })),
    ),
  )
  for (const [q, subjects] of [
    ['发票', ['zh']],
    ['票', ['zh']],
    ['附件中的发票', ['zh']],
    ['谢谢', ['zh']],
    ['票发', []],
    ['東京', ['de', 'ja']],
    ['東京都', ['ja']],
    ['京', ['de', 'ja']],
    ['東京 都庁', ['ja']],
    ['"東京 Flughafen"', ['de']],
    ['カレー', ['ja']],
    ['食べ -東京', []],
    ['회의', ['ko']],
    ['счет', ['ru']],
    ['СЧЁТ', ['ru']],
    ['القاهرة', ['ar']],
    ['दुनिया', ['hi']],
    ['ชาว', ['th']],
    ['καλημερα', ['el']],
    ['strasse', []],
    ['STRAßE', ['de']],
  ] as const) {
    t.strictSame(await found(store, { q }), subjects, q)
  }
})

onEveryDatabase('the other filters, alone and together', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  const file = JSON.stringify([{ filename: 'Invoice-77.pdf', contentType: 'application/pdf', sizeBytes: 1 }])
  await store.write(db =>
    insertAll(db, inbox.id, [
      { subject: 'one', fromAddr: 'bob@a.example', addressNames: '{"bob@a.example":"Bob Ross"}' },
      { subject: 'two', fromAddr: 'bob@b.example', attachments: file, category: 'automated' },
      {
        subject: 'three',
        fromAddr: 'zoe@z.example',
        headerTo: 'list@c.example',
        cc: '["dan@d.example"]',
        category: 'marketing',
      },
      {
        subject: 'four one',
        direction: 'outbound',
        fromAddr: 'ann@example.com',
        toAddr: 'eve@e.example',
        bcc: '["fay@f.example"]',
      },
    ]),
  )
  for (const [filter, subjects] of [
    [{ from: 'bob@a.example' }, ['one']],
    [{ from: 'bob ross' }, ['one']],
    [{ from: 'bob' }, ['two', 'one']],
    [{ from: 'a.example' }, ['one']],
    [{ from: '@' }, []],
    [{ to: 'list@c.example' }, ['three']],
    [{ to: 'dan' }, ['three']],
    [{ to: 'eve@e.example' }, ['four one']],
    [{ to: 'fay' }, ['four one']],
    [{ subject: 'one' }, ['four one', 'one']],
    [{ subject: 'one -four' }, ['one']],
    [{ after: second(1) }, ['four one', 'three']],
    [{ before: second(1) }, ['one']],
    [{ after: second(0), before: second(3) }, ['three', 'two']],
    [{ hasAttachment: true }, ['two']],
    [{ hasAttachment: false }, ['four one', 'three', 'one']],
    [{ q: 'invoice' }, ['two']],
    [{ category: 'marketing' }, ['three']],
    [{ category: 'spam' }, []],
    [{ direction: 'outbound' }, ['four one']],
    [{ direction: 'inbound', subject: 'one', before: second(9) }, ['one']],
    [{ from: 'bob', category: 'automated', hasAttachment: true, q: '-three' }, ['two']],
  ] as [SearchFilter, string[]][]) {
    t.strictSame(await found(store, filter), subjects, JSON.stringify(filter))
  }
})

onEveryDatabase('pages, threads and read state', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  const threads = await store.write(async db => {
    const made = [await insertThreadRow(db, inbox.id), await insertThreadRow(db, inbox.id, { isRead: 1 })]
    made.push(await insertThreadRow(db, inbox.id))
    for (let index = 0; index < 30; index++) {
      await insertMessageRow(db, made[index % 2]!, { subject: `n${index}`, bodyText: 'same' })
    }
    await insertMessageRow(db, made[2]!, { bodyText: 'other' })
    return made
  })
  const page = await searchMessages(store.read, account, { q: 'same' }, { limit: 3, offset: 4 })
  t.strictSame([await subjectsOf(store, page.rows), page.total], [['n25', 'n24', 'n23'], 30])
  const beyond = await searchMessages(store.read, account, { q: 'same' }, { limit: 3, offset: 10 ** 15 })
  t.strictSame([beyond.rows, beyond.total], [[], 30])
  t.equal((await searchMessages(store.read, account, { q: 'same' }, { limit: 0, offset: 0 })).total, 30)
  const threadsOf = async (filter: SearchFilter & { isRead?: boolean }, page = everything) => {
    const { rows, total } = await searchThreads(store.read, account, filter, page)
    return [rows.map(row => threads.findIndex(thread => thread.id === row.id)), total]
  }
  t.strictSame(await threadsOf({ q: 'same' }), [[1, 0], 2])
  t.strictSame(await threadsOf({ q: 'same' }, { limit: 1, offset: 1 }), [[0], 2])
  t.strictSame(await threadsOf({ q: 'same', isRead: true }), [[1], 1])
  t.strictSame(await threadsOf({ q: 'same', isRead: false }), [[0], 1])
  t.strictSame(await threadsOf({}), [[2, 1, 0], 3])
  t.strictSame(await threadsOf({ q: '"' }), [[], 0])
})

onEveryDatabase(
  'a scope sees its own; a deleted inbox and deleted messages are seen by none',
  async (t, store) => {
    const { pod, inbox } = await store.write(insertInstallation)
    const made = await store.write(async db => {
      const other = await insertPodRow(db)
      const [second, third] = [
        await insertInboxRow(db, pod.id, 'b@example.com'),
        await insertInboxRow(db, other.id, 'c@example.com'),
      ]
      for (const [index, { id }] of [inbox, second, third].entries()) {
        await insertAll(db, id, [{ subject: `of ${index}` }])
      }
      return { other, second, third }
    })
    const podScope = { podId: pod.id, inboxId: null }
    t.strictSame(await found(store, { q: 'of' }), ['of 2', 'of 1', 'of 0'])
    t.strictSame(await found(store, { q: 'of' }, podScope), ['of 1', 'of 0'])
    t.strictSame(await found(store, { q: 'of' }, { podId: pod.id, inboxId: inbox.id }), ['of 0'])
    t.strictSame(await found(store, {}, { podId: made.other.id, inboxId: null }), ['of 2'])
    await store.write(db => deleteInbox(db, made.second, second(1)))
    t.strictSame(await found(store, { q: 'of' }), ['of 2', 'of 0'])
    t.strictSame(await found(store, {}, podScope), ['of 0'])
    const [id] = (await searchMessages(store.read, podScope, {}, everything)).rows
    await store.write(db => deleteMessages(db, [id!]))
    t.strictSame(await found(store, {}, podScope), [])
    t.strictSame(await found(store, {}), ['of 2'])
  },
)

onEveryDatabase('whatever is asked is answered', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  await store.write(db =>
    insertAll(db, inbox.id, [{ subject: "it's", bodyText: 'a OR b NEAR c\\ \u{1f600}' }]),
  )
  for (const asked of [
    '"',
    '""',
    '-',
    '--',
    '-"',
    '*',
    'a*',
    'NEAR(a b)',
    'a OR b',
    'a AND NOT b',
    'body : a',
    '{from} : a',
    '^a',
    "'",
    "''; drop table message; --",
    '\\',
    "\\'",
    ':*A',
    '<->',
    '& | !',
    '(',
    ')))',
    '\u{1f600}',
    '\u0301\u0301',
    '%_',
    'a'.repeat(5000),
    'a '.repeat(2000),
    '"a b" '.repeat(500),
    '-a '.repeat(500),
    '東'.repeat(3000),
    '\u{20000}\u{20001}',
    'ﷺ'.repeat(50),
  ]) {
    for (const name of ['q', 'from', 'to', 'subject'] as const) {
      const { total } = await searchMessages(store.read, account, { [name]: asked }, everything)
      t.ok(total === 0 || total === 1, `${name}=${asked.slice(0, 30)}`)
    }
  }
  t.strictSame(await found(store, { q: 'a OR b' }), ["it's"], 'OR is a word like any other')
})

t.test('more in one millisecond than there are numbers for', async t => {
  const store = await openStore(`${t.testdir({})}/full.sqlite`, systemClock)
  t.teardown(() => store.close())
  const { inbox } = await store.write(insertInstallation)
  await store.write(async db => {
    const thread = await insertThreadRow(db, inbox.id)
    for (let index = 0; index < 2100; index++) await insertMessageRow(db, thread, { subject: `n${index}` })
  })
  const { rows, total } = await searchMessages(store.read, account, {}, { limit: 2, offset: 0 })
  t.strictSame([await subjectsOf(store, rows), total], [['n2099', 'n2098'], 2100])
  await store.write(db => deleteMessages(db, rows))
  t.equal((await searchMessages(store.read, account, {}, everything)).total, 2098)
})

t.test('how texts become words', async t => {
  t.strictSame(indexTokens('Hello, Wörld_2 ﬁn'), ['hello', 'world', '2', 'fin'])
  t.strictSame(indexTokens('東京都 x 東'), ['東京', '京都', '都', 'x', '東'])
  t.equal(indexTokens('y'.repeat(1000))[0]?.length, 64)
  t.equal(indexTokens('a '.repeat(100_000)).length, 20_000)
  t.equal(indexTokens('é '.repeat(100_000)).length, 20_000)
  t.strictSame(readTerms('a -"b c" "d'), [
    { tokens: ['a'], isOpen: false, isExcluded: false },
    { tokens: ['b', 'c'], isOpen: false, isExcluded: true },
    { tokens: ['d'], isOpen: false, isExcluded: false },
  ])
  t.equal(readTerms('a '.repeat(1000)).length, 32)
  t.ok(searchMatches >= 100_000)
})

onEveryDatabase('pages of what is in the index and what waits for it follow each other', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  await store.write(async db => {
    await insertAll(
      db,
      inbox.id,
      ['1', '2', '3', '4'].map(subject => ({ subject })),
    )
    for (const [n, subject] of ['5', '6', '7'].entries()) {
      const thread = await insertThreadRow(db, inbox.id, { lastMessageAt: second(10 + n) })
      await insertUnindexedRow(db, thread, { subject, createdAt: second(10 + n) })
    }
  })
  const all = await searchThreads(store.read, account, {}, everything)
  const whole = all.rows.map(({ id }) => id)
  t.strictSame([whole.length, new Set(whole).size, all.total], [7, 7, 7])
  const messages = (await searchMessages(store.read, account, {}, everything)).rows
  t.strictSame(await subjectsOf(store, messages), ['7', '6', '5', '4', '3', '2', '1'])
  for (let limit = 1; limit <= 7; limit++) {
    for (let offset = 0; offset <= 8; offset++) {
      const page = { limit, offset }
      const { rows, total } = await searchThreads(store.read, account, {}, page)
      const found = rows.map(({ id }) => id)
      t.strictSame([found, total], [whole.slice(offset, offset + limit), 7], `${limit} from ${offset}`)
      const some = await searchMessages(store.read, account, {}, page)
      t.strictSame([some.rows, some.total], [messages.slice(offset, offset + limit), 7])
    }
  }
})

onEveryDatabase('the oldest after an instant, of the index and of what waits for it', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  await store.write(async db => {
    await insertAll(
      db,
      inbox.id,
      ['1', '2', '3', '4'].map(subject => ({ subject })),
    )
    for (const n of [12, 11, 10]) {
      const thread = await insertThreadRow(db, inbox.id)
      await insertUnindexedRow(db, thread, { subject: String(n), createdAt: second(n) })
    }
  })
  const found = await searchEarliest(store.read, account, { after: second(0) }, 2)
  t.match(found, [{ createdAt: second(1) }, { createdAt: second(2) }])
  t.strictSame(
    await subjectsOf(
      store,
      found.map(({ id }) => id),
    ),
    ['2', '3'],
  )
  t.strictSame(await searchEarliest(store.read, account, { subject: '!' }, 2), [])
  const waiting = await listEarliestWaiting(store.read, account, { after: second(10) })
  t.strictSame(
    waiting.map(({ subject }) => subject),
    ['11', '12'],
  )
})

onEveryDatabase('what is put into the index during a question is in its answer once', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  const subjects = ['1', '2', '3', '4', '5', '6']
  await store.write(async db => {
    for (const [n, subject] of subjects.entries()) {
      const thread = await insertThreadRow(db, inbox.id, { lastMessageAt: second(n) })
      await insertUnindexedRow(db, thread, { subject, createdAt: second(n) })
    }
  })
  let moved = 0
  const moveOne = () =>
    store.write(async db => {
      const { rows } = await listUnindexed(db, { count: 1, bytes: Number.MAX_SAFE_INTEGER })
      for (const { texts, ...row } of rows) {
        await putIntoIndex(db, [{ ...row, words: searchWords(texts()) }])
        await dropUnindexed(db, [row.id])
        moved++
      }
    })
  const watched = watchedDb(store.read, {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      await moveOne()
      return result
    },
  })
  while (moved < subjects.length) {
    const { rows, total } = await searchMessages(watched, account, { after: second(0) }, everything)
    t.strictSame(await subjectsOf(store, rows), ['6', '5', '4', '3', '2'])
    t.equal(total, 5)
    const [page] = (await searchMessages(watched, account, {}, { limit: 1, offset: 2 })).rows
    t.strictSame(await subjectsOf(store, [page!]), ['4'])
  }
})
