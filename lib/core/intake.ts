import { limits } from '../base/limits.ts'
import { createIntake, type Intake } from '../blob/intake.ts'
import type { App } from './app.ts'

/** Takes the bytes of a message that is coming in: in memory while it is small, in a spool file when it is large. */
export function openIntake(app: App): Intake {
  return createIntake(app.disk.spoolPath(app.ids.next()), limits.blobInDatabaseBytes)
}
