import { systemClock } from '../../lib/base/time.ts'
import { followIndex } from '../../lib/store/indexing.ts'
import type { Store } from '../../lib/store/open.ts'
import { until } from './until.ts'

/** Puts into the search index what waits for it. */
export async function indexed(store: Store): Promise<void> {
  const { read, writeUnsynced: write } = store
  const indexing = followIndex({ read, write, version: () => undefined }, systemClock, () => {})
  try {
    await until('all to be indexed', async () => (await listUnindexedIds(store)).length === 0)
  } finally {
    await indexing.stop()
  }
}

/** The messages that wait for it, or were left out. */
export async function listUnindexedIds({ read }: Pick<Store, 'read'>): Promise<string[]> {
  const rows = await read.selectFrom('unindexedBody').select('messageId').orderBy('messageId').execute()
  return rows.map(({ messageId }) => messageId)
}
