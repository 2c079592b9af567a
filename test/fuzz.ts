/**
 * `npm run fuzz [-- [--seconds N] [--seed S] [NAME…]]`: what strangers say, altered by chance, for so many seconds each (60 unless told).
 * A name is one of test/fuzz. `npm test` runs them for 8 seconds each. A fault is shown with its input and seed.
 */

import { parseArgs } from 'node:util'
import { runProgram } from './support/program.ts'

/** A test file is ended after two minutes, so longer times are several rounds. */
const roundSeconds = 60

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string' } },
    allowPositionals: true,
  })
  const names = positionals.length > 0 ? positionals.map(name => `fuzz/${name}`) : ['test/fuzz']
  let left = Number(values.seconds)
  for (let round = 0; left > 0; round++) {
    const seconds = Math.min(left, roundSeconds)
    left -= seconds
    const env = {
      FUZZ_SECONDS: String(seconds),
      ...(values.seed !== undefined && { FUZZ_SEED: String(Number(values.seed) + round * 1_000_003) }),
    }
    const { code, stdout, stderr } = await runProgram(
      process.execPath,
      [`${import.meta.dirname}/run.ts`, ...names],
      undefined,
      { env, timeoutMs: 3_600_000 },
    )
    process.stdout.write(stdout)
    process.stderr.write(stderr)
    if (code !== 0) return 1
  }
  return 0
}

process.exitCode = await main(process.argv.slice(2))
