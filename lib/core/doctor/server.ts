import { StorageUnreachable } from '../../base/faults.ts'
import type { Clock } from '../../base/time.ts'
import { type Finding, finding } from '../../mail/domain/finding.ts'
import { openPostgres } from '../../store/postgres/pool.ts'
import { findServerState, type ServerState } from '../../store/postgres/state.ts'
import { requireRoom } from '../../store/room-watch.ts'

/** The oldest major version that the tests are run on. */
const leastVersion = 15
/** The clocks of two machines that follow NTP are nearer to each other. */
const mostAheadMs = 1000

/** Whether the PostgreSQL server with the rows keeps what it is told, and is one that this program knows. @param location its URL */
export async function checkServer(location: string, clock: Clock): Promise<Finding[]> {
  const pool = openPostgres(location, 1)
  const subject = /@([^@/?]+)\//.exec(location)?.[1] ?? 'the socket of PostgreSQL'
  try {
    const faults = faultsOf(await findServerState(pool.db, clock), subject)
    const full = await pool.reading(requireRoom).then(
      () => [],
      error => [unreached(error, subject)],
    )
    return [...faults, ...full]
  } catch (error) {
    return [unreached(error, subject)]
  } finally {
    await pool.close()
  }
}

/** disk_full */
const fullCode = '53100'

function unreached(error: unknown, subject: string): Finding {
  if (!(error instanceof StorageUnreachable)) throw error
  if (error.lost.code === fullCode) {
    const message = `its disk is full, and no mail is taken or sent until there is room (${error.lost.lost})`
    return finding('error', 'database_full', subject, message)
  }
  return finding('error', 'database_unreachable', subject, error.message, pasteFor(error))
}

/** Of a server that answers, what it says has the mend; it is looked at where nothing answers. */
function pasteFor({ lost: { code = '' } }: StorageUnreachable): string | undefined {
  return ['ECONNREFUSED', 'ENOENT'].includes(code) ? 'systemctl status postgresql' : undefined
}

function faultsOf(state: ServerState, subject: string): Finding[] {
  const found: Finding[] = []
  const isOff = (value: string) => value === 'off'
  if (isOff(state.fsync)) {
    const message =
      'fsync is off: after a power cut the database may be lost, and with it mail that was taken'
    found.push(finding('error', 'database_unsafe', subject, message, 'fsync = on'))
  }
  if (isOff(state.synchronousCommit)) {
    const message = 'synchronous_commit is off: after a crash of the server, mail that was taken is lost'
    found.push(finding('error', 'database_unsafe', subject, message, 'synchronous_commit = on'))
  }
  if (isOff(state.fullPageWrites)) {
    const message =
      'full_page_writes is off: after a power cut pages may be torn, unless the file system keeps them whole'
    found.push(finding('warning', 'database_unsafe', subject, message, 'full_page_writes = on'))
  }
  const { readOnly } = state
  if (readOnly.isOn) {
    const message =
      'it lets nobody write (default_transaction_read_only is on): no mail is taken or sent. Providers set it when the disk is full; make room first then'
    found.push(finding('error', 'database_read_only', subject, message, readOnly.resetPaste))
  }
  if (state.version < leastVersion * 10_000) {
    const message = `it is PostgreSQL ${Math.floor(state.version / 10_000)}; mailboxd is tried with ${leastVersion} and later`
    found.push(finding('warning', 'database_old', subject, message))
  }
  if (state.encoding !== 'UTF8') {
    const message = `the database is in ${state.encoding}, and mail has every letter: make it anew in UTF-8`
    found.push(finding('error', 'database_encoding', subject, message, state.utf8Paste))
  }
  if (Math.abs(state.aheadMs) > mostAheadMs) {
    const message = `its clock is ${Math.round(state.aheadMs / 1000)} seconds from the one of this machine: have both follow NTP`
    found.push(finding('warning', 'database_clock', subject, message))
  }
  return found
}
