import { together } from '../dialect/dialect.ts'
import { gatherNotices, type Notices } from '../dialect/notices.ts'
import type { Connection } from './connection.ts'
import { commit } from './serial.ts'
import { type Turn, turnSetting } from './turn.ts'

/** The advisory lock of who gives events their places. */
const placingLock = 0x706c6163
/**
 * Does `turn` in a transaction that one connection at a time is in, whichever process it is of; gives undefined where another is in
 * one.
 */
export async function alone<Found, Made>(
  { db, send }: Connection,
  { find, finish }: Turn<Found, Made>,
): Promise<{ readonly made: Made; readonly notices: Notices } | undefined> {
  const notices: Notices = new Map()
  gatherNotices(db, notices)
  try {
    // It goes with the next statement, which fails where this one does.
    send('begin isolation level read committed').catch(() => {})
    // A statement of its own: what the next ones see is what is committed once the lock is held.
    const asked = send(
      `select set_config('${turnSetting}', pg_try_advisory_xact_lock(${placingLock})::text, true) as "isOurs"`,
      [],
      'alone',
    )
    const finding = find(db)
    await together([asked, finding])
    if ((await asked).rows[0]!.isOurs !== 'true') {
      await send('rollback')
      return undefined
    }
    const made = await finish(db, await finding)
    await commit(send)
    return { made, notices }
  } catch (error) {
    await send('rollback').catch(() => {})
    throw error
  }
}
