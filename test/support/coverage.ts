import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

interface Range {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

interface Covered {
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly Range[] }[]
}

/**
 * What of the sources below `root` ran, told by what V8 wrote into `dir`, a file for each process and thread.
 * @returns whether what stands at `offset` of `file` ran, and of a file that nobody loaded that it did not
 */
export function readCoverage(dir: string, root: string): (file: string, offset: number) => boolean {
  const byUrl = new Map<string, Range[][]>()
  const sources = pathToFileURL(`${join(root, 'lib')}/`).href
  for (const name of readdirSync(dir)) {
    const { result } = JSON.parse(readFileSync(join(dir, name), 'utf8')) as { result: Covered[] }
    for (const { url, functions } of result) {
      if (!url.startsWith(sources)) continue
      const ranges = functions.flatMap(one => one.ranges)
      byUrl.set(url, [...(byUrl.get(url) ?? []), ranges])
    }
  }
  return (file, offset) => {
    const runs = byUrl.get(pathToFileURL(join(root, file)).href) ?? []
    return runs.some(ranges => ranAt(ranges, offset))
  }
}

/** The smallest range around it counts. */
function ranAt(ranges: readonly Range[], offset: number): boolean {
  const size = (one: Range) => one.endOffset - one.startOffset
  let smallest: Range | undefined
  for (const one of ranges) {
    if (offset < one.startOffset || offset >= one.endOffset) continue
    if (!smallest || size(one) <= size(smallest)) smallest = one
  }
  return smallest !== undefined && smallest.count > 0
}
