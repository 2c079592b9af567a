import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { builtPatterns, judge, nameOfPattern, writtenPatterns } from './patterns.ts'
import { root } from './source-tree.ts'

/**
 * The names of the patterns that were found linear before: recheck says the same of the same pattern again, and takes a minute of the
 * processor for all of them. One that does not stand there is asked for anew. `bin/node test/rules/judged.ts` writes it anew, and asks for
 * those alone that do not stand there.
 */
const path = join(root, 'test/rules/judged-patterns.txt')

/** Other patterns have other names, and so has each of them by another version of recheck or when it is asked otherwise. */
const how = [
  readFileSync(join(root, 'test/rules/judge-patterns.ts'), 'utf8'),
  createRequire(import.meta.url)('recheck/package.json').version,
].join()

const nameOf = (pattern: string) =>
  createHash('sha256').update(how).update(pattern).digest('hex').slice(0, 24)

/** Says of a pattern, by its `String(RegExp)`, whether it is known to be linear. */
export function readJudged(): (pattern: string) => boolean {
  const known = new Set(readFileSync(path, 'utf8').split('\n'))
  return pattern => known.has(nameOf(pattern))
}

async function writeJudged(): Promise<void> {
  const { literals, built } = writtenPatterns()
  const patterns = new Map(
    [...literals, ...(await builtPatterns(built))].map(one => [nameOfPattern(one), one]),
  )
  const isJudged = readJudged()
  const verdicts = await judge([...patterns].filter(([name]) => !isJudged(name)).map(([, one]) => one))
  const linear = [...patterns.keys()].filter(name => isJudged(name) || verdicts.get(name) === undefined)
  writeFileSync(path, `${linear.map(nameOf).sort().join('\n')}\n`)
}

if (import.meta.main) await writeJudged()
