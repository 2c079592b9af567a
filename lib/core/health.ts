import { Problem } from '../base/problem.ts'
import { findAccount } from '../store/account.ts'
import type { App } from './app.ts'

/** Takes the database's write lock, which fails when the disk or the database does. @throws Problem `unavailable` */
export async function requireHealth(app: App): Promise<void> {
  try {
    await app.store.write(findAccount)
  } catch (error) {
    app.log.error({ err: error }, 'the database can not be written')
    throw new Problem('unavailable')
  }
}
