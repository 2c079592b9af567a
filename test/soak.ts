/**
 * `npm run soak [-- --minutes N]`: mixed load on one daemon for so long (60 unless told), with kills, foreign readers of its database and
 * slow subscribers; and at the end each promise is looked for. It prints what the daemon took of the machine every minute. `npm test` runs
 * the same for 45 seconds.
 *
 * `npm run soak -- --nodes 3 [--minutes N] [--seed N]`: so many daemons on one PostgreSQL instead, of which some are killed and made to stand still
 * by chance, the same for the same seed; `npm test` runs three for 30 seconds.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    nodes: { type: 'string' },
    seed: { type: 'string' },
  },
})
const seconds = String(Number(values.minutes) * 60)
const env = {
  ...process.env,
  TAP_TIMEOUT: '0',
  SOAK_SECONDS: seconds,
  NODES_SECONDS: seconds,
  ...(values.nodes !== undefined && { NODES: values.nodes }),
  ...(values.seed !== undefined && { NODES_SEED: values.seed }),
}
const file = join(
  import.meta.dirname,
  'flow',
  values.nodes === undefined ? 'soak.test.ts' : 'nodes-kills.test.ts',
)
const [code] = await once(spawn(process.execPath, [file], { env, stdio: 'inherit' }), 'exit')
process.exitCode = code ?? 1
