import type { Migration } from '../migrate.ts'
import { firstMail } from './0001-first-mail.ts'

/** All steps, in order. Append; never change one that was released. */
export const migrations: readonly Migration[] = [firstMail]
