import { type Finding, finding } from '../../mail/domain/finding.ts'
import { walBytes } from '../app/storage-watch.ts'
import type { readLoad } from '../load.ts'

type Load = Awaited<ReturnType<typeof readLoad>>

/** After this what is due should have begun, and what came be found by its words. */
const lateMs = 10 * 60_000

/** A server that does not answer for so long will hardly do it. */
const oldMs = 86_400_000

/** What is wrong with what waits: the queue, the search index, and the write-ahead log. */
export function loadFindings({ queue, index, disk }: Load): Finding[] {
  const warning = (...parts: [code: string, subject: string, message: string, paste?: string]) =>
    finding('warning', ...parts)
  const minutes = (ms: number) => `${Math.round(ms / 60_000)} minutes`
  const found = queue.late
    .filter(one => one.lateMs > lateMs)
    .map(({ kind, lateMs: ms }) =>
      warning(
        'queue_late',
        kind,
        `the ${kind} that is due longest is due for ${minutes(ms)}, and nobody has begun it: does mailboxd run, and has it more to do than it can?`,
        'mailboxctl status',
      ),
    )
  if (queue.oldestMs > oldMs) {
    const message = `the oldest of what is queued waits for ${Math.round(queue.oldestMs / 3_600_000)} hours: see why, before it is given up`
    found.push(finding('hint', 'queue_old', 'queue', message, 'mailboxctl queue list --older-than 1d'))
  }
  if (index.lagMs > lateMs) {
    const message = `new mail is not found by its words for ${minutes(index.lagMs)}: the log says why`
    found.push(warning('search_index_late', 'search', message))
  }
  if (index.failed > 0) {
    const message = `${index.failed} messages could not be put into the search index; they stand in lists alone`
    found.push(warning('search_index_incomplete', 'search', message))
  }
  if (disk.log > 8 * walBytes) {
    const message = `the write-ahead log of the database has ${Math.round(disk.log / 2 ** 20)} MiB: another program keeps the database open, or its file can not be written`
    found.push(warning('database_log_long', 'mailboxd.sqlite-wal', message))
  }
  return found
}
