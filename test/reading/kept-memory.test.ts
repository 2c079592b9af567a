import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Content } from '../../lib/blob/content.ts'
import { createKeptMemory } from '../../lib/reading/kept-memory.ts'

function fileOf(t: { testdir(): string }, sizeBytes: number): { content: Content; bytes: Buffer } {
  const path = join(t.testdir(), 'raw')
  const bytes = randomBytes(sizeBytes)
  writeFileSync(path, bytes)
  return { content: { kind: 'file', path, sizeBytes, sha256: '' }, bytes }
}

t.test('memory is used again once it was released, and holds the new bytes alone', async t => {
  const memory = createKeptMemory()
  const long = fileOf(t, 3_000_000)
  const first = await memory.read(long.content)
  t.ok(first.equals(long.bytes))
  const short = fileOf(t, 300_000)
  const second = await memory.read(short.content)
  t.not(second.buffer, first.buffer, 'not while another is looked at')
  t.ok(first.equals(long.bytes))
  memory.release(first)
  const third = await memory.read(short.content)
  t.equal(third.buffer, first.buffer)
  t.ok(third.equals(short.bytes), 'and nothing of the longer one')
  t.not((await memory.read(short.content)).buffer, third.buffer, 'by one at a time')
  t.ok(second.equals(short.bytes))
})

t.test('what is very large, or in memory already, is not kept', async t => {
  const memory = createKeptMemory()
  const large = fileOf(t, 5_000_000)
  const bytes = await memory.read(large.content)
  t.ok(bytes.equals(large.bytes))
  memory.release(bytes)
  t.not((await memory.read(large.content)).buffer, bytes.buffer)
  const small = Buffer.from('small')
  t.ok((await memory.read({ kind: 'memory', bytes: small })).equals(small))
  memory.release(small)
  const next = fileOf(t, 10)
  t.ok((await memory.read(next.content)).equals(next.bytes))
  t.equal(small.toString(), 'small')
})
