import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createLogOutput, logWaitingBytes } from '../../lib/base/log.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

/** A real pipe, of which nothing is read until `read`. */
function openPipe(t: Test) {
  const path = join(temporaryDir(t), 'pipe')
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(path, constants.O_WRONLY)
  t.teardown(() => {
    closeSync(reader)
    closeSync(writer)
  })
  let text = ''
  const read = () => {
    const bytes = Buffer.alloc(65_536)
    try {
      const count = readSync(reader, bytes)
      text += bytes.toString('latin1', 0, count)
    } catch {
      // Nothing is there.
    }
    return text
  }
  return { writer, read }
}

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => `${from + at} ${'x'.repeat(990)}`)

t.test('a pipe that nobody reads: nobody waits for it, and what was left out is counted', async t => {
  const { writer, read } = openPipe(t)
  const told: number[] = []
  const output = createLogOutput(writer, lines => {
    told.push(lines)
    output.write(`left out ${lines}\n`)
  })
  const all = numbered(0, 3_000)
  for (const line of all) output.write(`${line}\n`)
  t.strictSame(told, [], 'nobody could read it')
  const text = await until('it is told', () => /left out \d+\n$/.test(read()) && read())
  const lines = text.trimEnd().split('\n')
  const kept = lines.slice(0, -1)
  t.strictSame(kept, all.slice(0, kept.length), 'those before are whole and in their order')
  const bytes = kept.join('\n').length
  t.ok(bytes > logWaitingBytes && bytes < logWaitingBytes + 200_000, 'as many as are kept')
  t.strictSame(told, [all.length - kept.length])
  t.equal(lines.at(-1), `left out ${told[0]}`)

  output.write('after\n')
  t.ok(read().endsWith('after\n'), 'at once again')
})

t.test('at the end of the process what waits is written as far as somebody reads', async t => {
  const { writer, read } = openPipe(t)
  const output = createLogOutput(writer, () => {})
  for (const line of numbered(0, 100)) output.write(`${line}\n`)
  t.notMatch(read(), /^99 /m)
  output.flushSync()
  t.match(read(), /^99 /m)
  for (const line of numbered(100, 300)) output.write(`${line}\n`)
  output.flushSync()
  t.notMatch(read(), /^299 /m, 'it does not wait for ever')
})
