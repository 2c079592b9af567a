/**
 * Which of some places in the sources a process runs. `probed` puts a call before each; this file, which is loaded before all else in each process and
 * thread (`probeEnv`), is what they call: it writes down each place once.
 */

import { appendFileSync, readFileSync } from 'node:fs'
import type { Mutant } from './mutants.ts'

const kept = 'MAILBOXD_PROBES'

declare global {
  var ranHere: ((place: number) => void) | undefined
}

const path = process.env[kept]
if (path) {
  const seen = new Set<number>()
  globalThis.ranHere = place => {
    if (seen.has(place)) return
    seen.add(place)
    appendFileSync(path, `${place}\n`)
  }
}

/** The environment of a process that writes down at `path` what it runs. */
export function probeEnv(path: string): Record<string, string> {
  return { [kept]: path, NODE_OPTIONS: `--import=${import.meta.filename}` }
}

/** The places that were written down. */
export function readProbes(path: string): Set<number> {
  try {
    return new Set(readFileSync(path, 'utf8').trimEnd().split('\n').map(Number))
  } catch {
    return new Set()
  }
}

/** The source with a call before each place, an expression or a statement. */
export function probed(source: string, places: readonly (Mutant & { readonly number: number })[]): string {
  const inserted = places.flatMap(({ number, within: [start, end], text }) => {
    const isStatement = text === '{}'
    const call = `globalThis.ranHere?.(${number})`
    const size = end - start
    // Of what begins at one place the larger begins first, of what ends there it ends last, after which the next may begin.
    return [
      { at: start, order: -size, text: isStatement ? `{${call};` : `(${call},` },
      { at: end, order: size - 1e9, text: isStatement ? '}' : ')' },
    ]
  })
  let text = ''
  let from = 0
  for (const one of inserted.sort((a, b) => a.at - b.at || a.order - b.order)) {
    text += source.slice(from, one.at) + one.text
    from = one.at
  }
  return text + source.slice(from)
}
