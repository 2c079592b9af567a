/**
 * Asks recheck of each regular expression whether there are texts that take it more than linear time, and prints what it
 * says. Reads and writes JSON.
 */

import { text } from 'node:stream/consumers'
import { check, type Diagnostics } from 'recheck'

/**
 * Where its automaton would be too large it looks for such texts by trial. What bounds that by itself are times, which
 * say what else the machine did; these are counts. It finds the same with fewer trials and smaller automata than it would
 * make, in a sixth of the time. Without its native program for this machine it is slow.
 */
const effort = {
  timeout: 90_000,
  attackTimeout: null,
  incubationTimeout: null,
  seedingTimeout: null,
  attackLimit: 50_000_000,
  maxNFASize: 8000,
  maxIteration: 2,
  maxGenerationSize: 20,
  maxInitialGenerationSize: 200,
  crossoverSize: 5,
  mutationSize: 10,
}

const patterns: { source: string; flags: string }[] = JSON.parse(await text(process.stdin))
const answers = []
for (const { source, flags } of patterns) {
  const said = await check(withoutLargeBounds(source), flags, effort)
  answers.push({ pattern: `/${source}/${flags}`, fault: faultOf(said) })
}
console.log(JSON.stringify(answers))

/** A repeat of up to hundreds costs hundreds of looks for each character: it is judged as one without a bound. */
function withoutLargeBounds(source: string): string {
  return source.replaceAll(/\{(\d+),\d{3,}\}/g, '{$1,}')
}

function faultOf(said: Diagnostics): string | undefined {
  if (said.status === 'safe') return undefined
  if (said.status === 'unknown') return `recheck can't tell: ${said.error.kind}`
  return `${said.complexity.summary}, by ${said.attack.pattern}`
}
