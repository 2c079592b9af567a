import { join } from 'node:path'
import { packageRoot } from './package-root.ts'

/** Connections to PostgreSQL of each thread that reads or indexes. */
export const postgresReaders = 2
/** Threads that hold SMTP sessions, where the setting does not say how many: one for each core, up to this. */
export const smtpThreadsMax = 8

/**
 * The file that a worker thread begins with. Where the sources run as they are, so does the worker's; the built programs
 * have it beside them (`bin/build.ts` finds them by the calls of this function).
 * @param name its path below lib, without the end: `reading/worker`
 */
export function threadEntry(name: string): string {
  const isSource = import.meta.filename.endsWith('.ts')
  return isSource
    ? join(packageRoot(), 'lib', `${name}.ts`)
    : join(packageRoot(), 'dist', 'lib', `${name}.js`)
}
