import t from 'tap'
import { walBytes } from '../../../lib/core/app/storage-watch.ts'
import { loadFindings } from '../../../lib/core/doctor/load.ts'

const quiet = {
  queue: {
    waiting: [],
    late: [
      { kind: 'delivery', lateMs: 5000 },
      { kind: 'webhook', lateMs: 0 },
    ],
    oldestMs: 86_400_000,
  },
  index: { waiting: 5, failed: 0, lagMs: 1000 },
  disk: { database: 1e9, log: walBytes, free: 1e9 },
}

t.test('the doctor tells what waits too long, and is quiet about what waits as it should', async t => {
  t.strictSame(loadFindings(quiet), [])
  const found = loadFindings({
    queue: { ...quiet.queue, oldestMs: 2 * 86_400_000, late: [{ kind: 'delivery', lateMs: 3_600_000 }] },
    index: { waiting: 10_000, failed: 2, lagMs: 1_200_000 },
    disk: { ...quiet.disk, log: 9 * walBytes },
  })
  t.strictSame(
    found.map(({ level, code, subject }) => [level, code, subject]),
    [
      ['warning', 'queue_late', 'delivery'],
      ['hint', 'queue_old', 'queue'],
      ['warning', 'search_index_late', 'search'],
      ['warning', 'search_index_incomplete', 'search'],
      ['warning', 'database_log_long', 'mailboxd.sqlite-wal'],
    ],
  )
  t.match(found[0]!.message, /60 minutes/)
})
