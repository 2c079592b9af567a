import { schema } from './0001-schema.ts'
import type { Migration } from './migration.ts'

/** All steps, in the order of their numbers. Append; never change one that was released. */
export const migrations: readonly Migration[] = [schema]
