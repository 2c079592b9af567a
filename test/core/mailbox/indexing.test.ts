import { sql } from 'kysely'
import t from 'tap'
import { StorageUnreachable } from '../../../lib/base/faults.ts'
import type { Scope } from '../../../lib/base/ids.ts'
import { createLog } from '../../../lib/base/log.ts'
import { systemClock } from '../../../lib/base/time.ts'
import { startIndexing } from '../../../lib/core/mailbox/indexing.ts'
import { indexPollMs } from '../../../lib/store/dialect/kept-thread.ts'
import { type Followed, followIndex, type IndexTrouble } from '../../../lib/store/indexing.ts'
import type { Store } from '../../../lib/store/open.ts'
import { deleteMessages } from '../../../lib/store/removal.ts'
import { mergeIndex } from '../../../lib/store/search/full-text.ts'
import { searchMessages } from '../../../lib/store/search/search.ts'
import { messageDistinctWords } from '../../../lib/store/search/words.ts'
import { onEveryDatabase } from '../../support/databases.ts'
import { indexed, listUnindexedIds } from '../../support/indexed.ts'
import {
  insertInstallation,
  insertMessageRow,
  insertThreadRow,
  insertUnindexedRow,
} from '../../support/rows.ts'
import { until } from '../../support/until.ts'

const account: Scope = { podId: null, inboxId: null }

async function count(store: Store, q: string): Promise<number> {
  return (await searchMessages(store.read, account, { q }, { limit: 100, offset: 0 })).total
}

/** So many words, all different, that no other message has. */
function strangeWords(n: number, of = ''): string {
  return Array.from({ length: n }, (_, index) => `${of}x${index}`).join(' ')
}

async function insertTexts(store: Store, texts: readonly string[]): Promise<string[]> {
  const { inbox } = await store.write(insertInstallation)
  const ids: string[] = []
  for (const bodyText of texts) {
    const row = await store.write(async db =>
      insertUnindexedRow(db, await insertThreadRow(db, inbox.id), { bodyText, subject: 'letter' }),
    )
    ids.push(row.id)
  }
  return ids
}

/** The store as the follower sees it; before each of its writes something is done. */
function followed(store: Store, before: () => Promise<void> = async () => {}): Followed {
  return {
    read: store.read,
    version: () => undefined,
    async write(work) {
      await before()
      return store.writeUnsynced(work)
    },
  }
}

onEveryDatabase('what was written is found when its follower has come to it, each once', async (t, store) => {
  const texts = Array.from({ length: 40 }, (_, n) => `text${n}`)
  await insertTexts(store, texts)
  t.equal(await count(store, 'letter'), 0)
  const lines: string[] = []
  const log = createLog('info', { write: line => void lines.push(line) })
  const indexing = startIndexing({ store, log })
  await until('all to be indexed', async () => (await listUnindexedIds(store)).length === 0)
  await indexing.stop()
  t.equal(await count(store, 'letter'), 40)
  for (const n of [0, 20, 39]) t.equal(await count(store, `text${n}`), 1)
  t.strictSame(lines, [])
})

onEveryDatabase(
  'while mail waits for the index to be written, each of its writes is one message',
  async (t, store) => {
    // Nothing waits for the index of a server.
    if (store.dialect === 'postgres') return
    await insertTexts(store, ['one', 'two', 'three'])
    let isWanted = true
    const left: number[] = []
    const counted = followed(store, async () => {
      left.push((await listUnindexedIds(store)).length)
      if (left.at(-1) === 2) isWanted = false
    })
    const indexing = followIndex({ ...counted, isWanted: () => isWanted }, systemClock, () => {})
    await until('all to be indexed', async () => (await listUnindexedIds(store)).length === 0)
    await indexing.stop()
    // The first write only tries again what was left out before.
    t.strictSame(left.slice(0, 3), [3, 3, 2], 'one')
    t.notOk(left.includes(1), 'and then all the others')
    t.equal(await count(store, 'letter'), 3)
  },
)

onEveryDatabase('what is deleted between being read and being indexed stays deleted', async (t, store) => {
  const [id] = await insertTexts(store, ['gone', 'stays'])
  let writes = 0
  const deleting = followed(store, async () => {
    // The first write only tries again what was left out before.
    if (++writes === 2) await store.write(db => deleteMessages(db, [id!]))
  })
  const indexing = followIndex(deleting, systemClock, () => {})
  await until('all to be indexed', async () => (await listUnindexedIds(store)).length === 0)
  await indexing.stop()
  t.ok(writes >= 2)
  t.equal(await count(store, 'gone'), 0)
  t.equal(await count(store, 'letter'), 1)
})

onEveryDatabase(
  'one that can not be indexed is told once, and those behind it are found',
  async (t, store) => {
    const ids = await insertTexts(store, ['first', 'broken', 'last'])
    const broken = ids[1]!
    const names = (json: string) =>
      store.write(db =>
        db.updateTable('message').set({ addressNames: json }).where('id', '=', broken).execute(),
      )
    await names('{')
    const troubles: IndexTrouble[] = []
    const indexing = followIndex(followed(store), systemClock, trouble => troubles.push(trouble))
    await until('the last one to be found', async () => (await count(store, 'last')) === 1)
    await indexing.stop()
    t.equal(await count(store, 'first'), 1)
    t.match(troubles, [{ messageId: broken, why: /SyntaxError/ }])
    t.strictSame(await listUnindexedIds(store), [broken], 'it is known which')
    await names('{}')
    const again = followIndex(followed(store), systemClock, () => {})
    await until('it to be found after a restart', async () => (await count(store, 'broken')) === 1)
    await again.stop()
  },
)

t.test('what goes wrong is in the log: each message, and what hinders all of it', async t => {
  const lines: Record<string, unknown>[] = []
  const log = createLog('info', { write: line => void lines.push(JSON.parse(line)) })
  const troubles: readonly IndexTrouble[] = [
    { messageId: 'one', why: 'SyntaxError' },
    { why: 'the disk is full' },
    { why: null },
    { messageId: 'two', why: 'SyntaxError' },
  ]
  const keepIndex = (told: (trouble: IndexTrouble) => void) => {
    for (const trouble of troubles) told(trouble)
    return { stop: async () => {} }
  }
  startIndexing({ store: { keepIndex } as unknown as Store, log })
  t.match(lines, [
    { level: 'error', messageId: 'one', why: 'SyntaxError', count: 1, msg: /^a message can not be indexed/ },
    { level: 'error', why: 'the disk is full', msg: /can not be kept up$/ },
    { level: 'warn', msg: /is kept up again$/ },
    { level: 'error', messageId: 'two', count: 2, msg: /^a message can not be indexed/ },
  ])
})

onEveryDatabase(
  'one on which the write of many fails is found, and the others are there',
  async (t, store) => {
    const texts = Array.from({ length: 9 }, (_, n) => `text${n}`)
    const broken = (await insertTexts(store, texts))[4]!
    const refusal =
      store.dialect === 'sqlite'
        ? [
            `create trigger "refuse" before delete on "unindexedBody" when old."messageId" = '${broken}'
           begin select raise(abort, 'refused'); end`,
          ]
        : [
            `create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`,
            `create trigger refuse before delete on "unindexedBody" for each row
           when (old."messageId" = '${broken}') execute function refuse()`,
          ]
    await store.write(async db => {
      for (const statement of refusal) await sql.raw(statement).execute(db)
    })
    const troubles: IndexTrouble[] = []
    const indexing = followIndex(followed(store), systemClock, trouble => troubles.push(trouble))
    await until('it to be told', () => troubles.length > 0)
    await until('the others to be found', async () => (await count(store, 'letter')) === 8)
    await indexing.stop()
    t.equal(troubles.length, 1)
    t.match(troubles, [{ messageId: broken, why: /refused/ }])
    t.strictSame(await listUnindexedIds(store), [broken])
  },
)

onEveryDatabase(
  'a server or a disk that fails while one is written is not taken for a fault of that one',
  async (t, store) => {
    const { inbox } = await store.write(insertInstallation)
    const insertText = (bodyText: string) =>
      store.write(async db => insertUnindexedRow(db, await insertThreadRow(db, inbox.id), { bodyText }))
    await insertText('alone')
    const toldOf = async (fault: Error) => {
      let writes = 0
      const failing = followed(store, async () => {
        // The first write only tries again what was left out before.
        if (++writes === 2) throw fault
      })
      const troubles: IndexTrouble[] = []
      const indexing = followIndex(failing, systemClock, trouble => troubles.push(trouble))
      await until('another write', () => writes > 2)
      await indexing.stop()
      return troubles
    }
    const ended = new StorageUnreachable(new Error('connection ended'))
    t.strictSame(await toldOf(ended), [], 'that of a server is told by who writes')
    t.equal(await count(store, 'alone'), 1)

    await insertText('another')
    const full = Object.assign(new Error('disk full'), { code: 'ENOSPC' })
    t.match(await toldOf(full), [{ why: /disk full/ }, { why: null }])
    t.equal(await count(store, 'another'), 1)
  },
)

onEveryDatabase('what comes one by one is gathered into batches', async (t, store) => {
  const { inbox } = await store.write(insertInstallation)
  const insertText = (bodyText: string) =>
    store.write(async db =>
      insertUnindexedRow(db, await insertThreadRow(db, inbox.id), { bodyText, subject: 'letter' }),
    )
  await insertText('first')
  let looks = 0
  const clock = {
    ms: 0,
    monotonicMs() {
      looks++
      return clock.ms
    },
  }
  const indexing = followIndex(followed(store), clock, () => {})
  await until('the first to be found', async () => (await count(store, 'letter')) === 1)
  const { id } = await insertText('second')
  const before = looks
  // It asks for the time at each look, and around each step of one.
  await until('it to have looked again', () => looks >= before + 6)
  t.strictSame(await listUnindexedIds(store), [id], 'it waits for others')
  clock.ms += indexPollMs
  await until('it to be found', async () => (await count(store, 'letter')) === 2)
  await indexing.stop()
})

onEveryDatabase('what hinders all of it is told at its begin and at its end', async (t, store) => {
  await insertTexts(store, ['text'])
  let isBroken = true
  const troubles: IndexTrouble[] = []
  const broken = followed(store, async () => {
    if (isBroken) throw new Error('no room')
  })
  const indexing = followIndex(broken, systemClock, trouble => troubles.push(trouble))
  await until('it to be told', () => troubles.length > 0)
  isBroken = false
  await until('it to be found', async () => (await count(store, 'text')) === 1)
  await until('the end to be told', () => troubles.length > 1)
  await indexing.stop()
  t.match(troubles, [{ why: /no room/ }, { why: null }])
})

onEveryDatabase('a message of very many different words is found by the first of them', async (t, store) => {
  const most = messageDistinctWords
  await insertTexts(store, [
    `${strangeWords(most - 100)} ${'again '.repeat(500)} ${strangeWords(9000, 'late')}`,
  ])
  await indexed(store)
  t.equal(await count(store, `x${most - 200} again`), 1)
  t.equal(await count(store, 'latex10'), 1)
  t.equal(await count(store, 'latex200'), 0)
})

onEveryDatabase('the index is merged in steps, and not in the writes of messages', async (t, store) => {
  // PostgreSQL merges its own.
  if (store.dialect === 'postgres') return
  const texts = Array.from({ length: 80 }, (_, n) => `common ${strangeWords(900, `m${n}`)}`)
  const { inbox } = await store.write(insertInstallation)
  for (const bodyText of texts) {
    await store.write(async db => insertMessageRow(db, await insertThreadRow(db, inbox.id), { bodyText }))
  }
  const segments = async () =>
    (
      await sql<{ n: number }>`select count(distinct "segid") as "n" from "messageSearch_idx"`.execute(
        store.read,
      )
    ).rows[0]!.n
  const changed = async () =>
    store.write(async db => (await sql<{ n: number }>`select total_changes() as "n"`.execute(db)).rows[0]!.n)
  t.ok((await segments()) >= 80, 'one for each write')
  const perStep: number[] = []
  for (let isMore = true; isMore; ) {
    const before = await changed()
    isMore = await store.write(mergeIndex)
    perStep.push((await changed()) - before)
  }
  t.ok(perStep.length > 4, `${perStep.length} steps`)
  const all = perStep.reduce((sum, rows) => sum + rows, 0)
  t.ok(Math.max(...perStep) < all / 2, `${Math.max(...perStep)} of ${all} rows in one`)
  t.ok((await segments()) < 5)
  t.equal(await count(store, 'common'), 80)
})
