import { readFileSync } from 'node:fs'
import type { Migration } from './migration.ts'

/** The tables of the first release. The build puts the text of schema.sql into the bundle (bin/build.ts). */
export const schema: Migration = {
  number: 1,
  name: 'schema',
  breaking: true,
  sql: readFileSync(new URL('../schema.sql', import.meta.url), 'utf8'),
}
