import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { until } from './until.ts'

/** The messages of a Maildir, oldest first, once there are `count`; with CRLF, as they crossed the wire. */
export function readMaildir(dir: string, count = 1): Promise<Buffer[]> {
  return until(`${count} messages in ${dir}`, () => {
    const paths =
      countMaildir(dir) >= count && readdirSync(join(dir, 'new')).map(name => join(dir, 'new', name))
    return paths && byAge(paths).map(path => withCrlf(readFileSync(path)))
  })
}

/** How many messages a Maildir holds that nobody has read. */
export function countMaildir(dir: string): number {
  try {
    return readdirSync(join(dir, 'new')).length
  } catch {
    return 0
  }
}

function byAge(paths: readonly string[]): string[] {
  const ages = new Map(paths.map(path => [path, statSync(path, { bigint: true }).ctimeNs]))
  return [...paths].sort((a, b) => Number((ages.get(a) ?? 0n) - (ages.get(b) ?? 0n)))
}

function withCrlf(raw: Buffer): Buffer {
  return Buffer.from(raw.toString('latin1').replace(/\r?\n/g, '\r\n'), 'latin1')
}
