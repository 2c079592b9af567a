import { sql } from 'kysely'
import t from 'tap'
import { systemClock } from '../../../lib/base/clock.ts'
import { limits } from '../../../lib/base/limits.ts'
import type { Scope } from '../../../lib/base/scope.ts'
import { startIndexing } from '../../../lib/core/mailbox/indexing.ts'
import type { Store } from '../../../lib/store/open.ts'
import { deleteMessages } from '../../../lib/store/removal.ts'
import { mergeIndex } from '../../../lib/store/search/full-text.ts'
import { searchMessages } from '../../../lib/store/search/search.ts'
import { searchWords, searchWordsInTurns } from '../../../lib/store/search/words.ts'
import { onEveryDatabase } from '../../support/databases.ts'
import { insertInstallation, insertMessageRow, insertThreadRow } from '../../support/rows.ts'
import { until } from '../../support/until.ts'

const account: Scope = { podId: null, inboxId: null }

async function count(store: Store, q: string): Promise<number> {
  return (await searchMessages(store.read, account, { q }, { limit: 100, offset: 0 })).total
}

async function unindexed(store: Store): Promise<string[]> {
  const rows = await store.read.selectFrom('unindexedBody').select('messageId').orderBy('messageId').execute()
  return rows.map(({ messageId }) => messageId)
}

/** So many words, all different, that no other message has. */
function strangeWords(n: number, of = ''): string {
  return Array.from({ length: n }, (_, index) => `${of}x${index}`).join(' ')
}

async function insertTexts(store: Store, texts: readonly string[]): Promise<string[]> {
  const { inbox } = await store.write(insertInstallation)
  const ids: string[] = []
  // A write for each, as messages come.
  for (const bodyText of texts) {
    const row = await store.write(async db =>
      insertMessageRow(db, await insertThreadRow(db, inbox.id), { bodyText, subject: 'found at once' }),
    )
    ids.push(row.id)
  }
  return ids
}

/** Shows each write that goes through it, when it has been done. */
function watchedStore(store: Store, written: () => Promise<void>): Store {
  return {
    ...store,
    async writeUnsynced(work) {
      const value = await store.writeUnsynced(work)
      await written()
      return value
    },
  }
}

const log = { error: (...told: unknown[]) => console.error(told) } as unknown as Parameters<
  typeof startIndexing
>[0]['log']

onEveryDatabase(
  'a small message is found at once; of a long one the words come one message a write',
  async (t, store) => {
    const long = strangeWords(limits.indexedWords, 'long')
    const ids = await insertTexts(store, ['short words', long, long, long])
    t.equal(await count(store, 'short'), 1)
    t.equal(await count(store, 'found'), 4, 'by what is short they are all found')
    t.equal(await count(store, 'longx1'), 0)
    t.strictSame(await unindexed(store), ids.slice(1))

    await store.write(db => deleteMessages(db, [ids[2]!]))
    const steps: number[] = []
    let left = 2
    const watched = watchedStore(store, async () => {
      const now = (await unindexed(store)).length
      steps.push(left - now)
      left = now
    })
    const indexing = startIndexing({ store: watched, log, clock: systemClock })
    await until('all to be indexed', () => left === 0)
    await indexing.stop()
    t.ok(
      steps.every(step => step <= 1),
      'never two in one write',
    )
    t.equal(await count(store, 'longx1'), 2, 'what was deleted is not found')
    t.equal(await count(store, 'found'), 3, 'once each')
  },
)

t.test('the words of a long text are read in slices, to the same words', async t => {
  const pieces = ['Größe ', 'word-and-number77 ', '東京都。', '👍🏽 ', 'naïve\n', 'ชาวโลก ']
  const text = Array.from({ length: 12_000 }, (_, n) => pieces[n % pieces.length]).join('')
  const message = { from: 'a@b.example', to: [], names: null, subject: '', text, filenames: ['end.pdf'] }
  let turns = 0
  const words = await searchWordsInTurns(message, async () => void turns++)
  t.strictSame(words, searchWords(message))
  t.ok(turns >= text.length / limits.wordsSliceLength - 1, `${turns} turns`)
})

onEveryDatabase('what is deleted between being read and being indexed stays deleted', async (t, store) => {
  const [id] = await insertTexts(store, [strangeWords(limits.indexedWords * 3)])
  let isDeleted = false
  const deleting: Store = {
    ...store,
    async writeUnsynced(work) {
      if (!isDeleted) await store.write(db => deleteMessages(db, [id!]))
      isDeleted = true
      return store.writeUnsynced(work)
    },
  }
  const indexing = startIndexing({ store: deleting, log, clock: systemClock })
  await until('it to be looked for', () => isDeleted)
  await indexing.stop()
  t.equal(await count(store, 'x1'), 0)
  t.equal(await count(store, 'found'), 0)
  t.strictSame(await unindexed(store), [])
})

onEveryDatabase('a message of very many different words is found by the first of them', async (t, store) => {
  const most = limits.messageDistinctWords
  await insertTexts(store, [
    `${strangeWords(most - 100)} ${'again '.repeat(500)} ${strangeWords(9000, 'late')}`,
  ])
  const indexing = startIndexing({ store, log, clock: systemClock })
  await until('it to be indexed', async () => (await unindexed(store)).length === 0)
  await indexing.stop()
  t.equal(await count(store, `x${most - 200} again`), 1)
  t.equal(await count(store, 'latex10'), 1)
  t.equal(await count(store, 'latex200'), 0)
})

onEveryDatabase('the index is merged in steps, and not in the writes of messages', async (t, store) => {
  if (store.dialect === 'postgres') {
    t.equal(await store.write(mergeIndex), false)
    return
  }
  const texts = Array.from(
    { length: 80 },
    (_, n) => `common ${strangeWords(limits.indexedWords - 100, `m${n}`)}`,
  )
  await insertTexts(store, texts)
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
