/**
 * `npm run soak [-- --minutes N]`: mixed load on one daemon for so long (60 unless told), with kills, foreign readers of its database and
 * slow subscribers; and at the end each promise is looked for. It prints what the daemon took of the machine every minute. `npm test` runs
 * the same for 45 seconds.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' } } })
const env = { ...process.env, SOAK_SECONDS: String(Number(values.minutes) * 60), TAP_TIMEOUT: '0' }
const file = join(import.meta.dirname, 'flow', 'soak.test.ts')
const [code] = await once(spawn(process.execPath, [file], { env, stdio: 'inherit' }), 'exit')
process.exitCode = code ?? 1
