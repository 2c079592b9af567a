/**
 * `npm run build && bin/node bench/cold.ts [--messages N] [--rest SECONDS]`: what a start and a call of mailboxctl cost beside `node -e 0`, by
 * turns, medians of twenty and five; and the memory of an idle daemon: after its start, after N messages (100,000 unless told), and
 * after that, each when it has rested (330 s, by which its threads have ended). About fifteen minutes.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { getPeer } from '../test/support/peers.ts'
import { freePort } from '../test/support/ports.ts'
import { runProgram } from '../test/support/program.ts'
import { type Call, call, launcher } from './calls.ts'
import { percentile } from './percentile.ts'
import { residentBytes } from './process-figures.ts'
import { startMailboxdSubject } from './subject/mailboxd.ts'
import { table } from './table.ts'

const starts = 5
const calls = 20
const { values } = parseArgs({
  options: { messages: { type: 'string', default: '100000' }, rest: { type: 'string', default: '330' } },
})
const rows: string[][] = []
const megabytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(0)} MB`

const startMs: number[] = []
for (let n = 0; n < starts; n++) {
  const started = await startMailboxdSubject(await freePort('127.0.0.2'))
  startMs.push(started.startMs)
  await started.stop()
}
const mailboxd = await startMailboxdSubject(await freePort('127.0.0.2'))
try {
  const bare: Call[] = []
  const keyList: Call[] = []
  for (let n = 0; n < calls; n++) {
    bare.push(await call(launcher('node'), ['-e', '0']))
    keyList.push(await call(launcher('mailboxctl'), ['--config', mailboxd.config, 'key', 'list']))
  }
  const median = (all: readonly Call[], what: keyof Call) =>
    `${percentile(
      all.map(one => one[what]),
      50,
    ).toFixed(0)} ms`
  rows.push(['node -e 0', median(bare, 'wallMs'), median(bare, 'cpuMs')])
  rows.push(['mailboxctl key list', median(keyList, 'wallMs'), median(keyList, 'cpuMs')])
  rows.push(['start to greeting', `${percentile(startMs, 50).toFixed(0)} ms`, ''])
  console.log(table(['', 'wall', 'CPU'], rows))

  await pause(Number(values.rest) * 1000)
  console.log(`\nidle, ${values.rest} s after the start: ${megabytes(residentBytes(mailboxd.pid))}`)
  const { messages } = values
  const load = [
    '-d',
    '-s',
    '20',
    '-m',
    messages,
    '-l',
    '4096',
    '-f',
    'load@client.test',
    '-t',
    mailboxd.recipient,
  ]
  const run = await runProgram(
    getPeer('smtp-source'),
    [...load, `${mailboxd.address}:${mailboxd.port}`],
    undefined,
    {
      timeoutMs: 1_800_000,
    },
  )
  if (run.code !== 0) throw new Error(`smtp-source ended with ${run.code}: ${run.stderr}`)
  console.log(`right after ${messages} messages: ${megabytes(residentBytes(mailboxd.pid))}`)
  await pause(Number(values.rest) * 1000)
  console.log(`${values.rest} s later: ${megabytes(residentBytes(mailboxd.pid))}`)
} finally {
  await mailboxd.stop()
}
