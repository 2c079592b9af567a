import { longFiles } from './long-files.ts'

/** So many files run in one process at the most: what they share is loaded once, and what breaks the process takes few others with it. */
const mostFiles = 12
/** Of those that take long, so that no processor waits for the last group. */
const mostLong = 5

/**
 * Stories that take so long that a process of their own is nothing to them, and no other is to wait for them; fuzzers have a lane of their
 * own, and types and form take longer than any group.
 */
const aloneStories = new Set(
  [
    'acme-nodes',
    'crash-rotation',
    'database-failover',
    'documents-server',
    'hostile-crowd',
    'moving',
    'nodes',
    'nodes-kills',
    'package',
    'postgres',
    'power-cuts',
    'rolling-upgrade',
    'soak',
    'start',
  ].map(name => `test/flow/${name}.test.ts`),
)

const isAlone = (file: string) => aloneStories.has(file) || /^test\/(fuzz\/|rules\/check)/.test(file)

/** Test files in the groups that run in one process each. Those of a group are of one layer, and load much the same. */
export function groupFiles(files: readonly string[]): string[][] {
  const long = new Set(longFiles)
  const groups: string[][] = files.filter(isAlone).map(file => [file])
  const others = files.filter(file => !isAlone(file))
  for (const layer of Map.groupBy(others, layerOf).values()) {
    groups.push(
      ...inParts(
        layer.filter(file => long.has(file)),
        mostLong,
      ),
    )
    groups.push(
      ...inParts(
        layer.filter(file => !long.has(file)),
        mostFiles,
      ),
    )
  }
  return groups
}

const layerOf = (file: string) => file.split('/')[1]!

/** In parts of much the same size. */
function inParts(files: readonly string[], most: number): string[][] {
  const count = Math.ceil(files.length / most)
  return Array.from({ length: count }, (_, part) => files.filter((_, i) => i % count === part))
}
