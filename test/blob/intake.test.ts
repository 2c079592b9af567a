import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openContent, sha256Of, sizeOf } from '../../lib/blob/content.ts'
import { createIntake } from '../../lib/blob/intake.ts'

t.test('what is small stays in memory, and no file is made', async t => {
  const path = join(t.testdir(), 'spool')
  const empty = await createIntake(() => path, 10).end()
  t.strictSame(empty, { kind: 'memory', bytes: Buffer.alloc(0) })
  const intake = createIntake(() => path, 10)
  for (const part of ['123', '', '4567', '890']) await intake.write(Buffer.from(part))
  const content = await intake.end()
  t.strictSame(content, { kind: 'memory', bytes: Buffer.from('1234567890') })
  t.equal(sizeOf(content), 10)
  t.equal(sha256Of(content), hash('sha256', '1234567890'))
  t.equal(Buffer.concat(await openContent(content).toArray()).toString(), '1234567890')
  t.notOk(existsSync(path))
  await intake.discard()
})

t.test('one byte more goes into a file that its owner alone may read', async t => {
  const path = join(t.testdir(), 'spool')
  const intake = createIntake(() => path, 10)
  await intake.write(Buffer.from('1234567890'))
  t.notOk(existsSync(path))
  await intake.write(Buffer.from('1'))
  await intake.write(Buffer.from('23'))
  t.strictSame(await intake.end(), {
    kind: 'file',
    path,
    sizeBytes: 13,
    sha256: hash('sha256', '1234567890123'),
  })
  t.equal(readFileSync(path, 'utf8'), '1234567890123')
  t.equal(statSync(path).mode & 0o777, 0o600)
  await intake.discard()
  t.notOk(existsSync(path))
  await intake.discard()
})

t.test('a fast sender waits for the disk, and leaves nothing behind by waiting', async t => {
  const path = join(t.testdir(), 'spool')
  const warnings: string[] = []
  const note = (warning: Error) => void warnings.push(String(warning))
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  const intake = createIntake(() => path, 1000)
  const chunk = Buffer.alloc(256 * 1024, 'abc')
  let waits = 0
  for (let count = 0; count < 40; count++) {
    const ready = intake.write(chunk)
    if (ready) waits++
    await ready
  }
  t.ok(waits > 10, `${waits} waits`)
  t.match(await intake.end(), { kind: 'file', path, sizeBytes: 40 * chunk.length })
  t.equal(statSync(path).size, 40 * chunk.length)
  await new Promise(resolve => setImmediate(resolve))
  t.strictSame(warnings, [])
})

t.test('a file that can not be written fails the write or the end, and discard still works', async t => {
  const dir = t.testdir({ taken: 'of someone else' })
  for (const [path, code] of [
    [join(dir, 'none', 'spool'), 'ENOENT'],
    [join(dir, 'taken'), 'EEXIST'],
  ] as const) {
    const waiting = createIntake(() => path, 4)
    await t.rejects(async () => waiting.write(Buffer.alloc(1_000_000)), { code }, 'while it waits')
    await t.rejects(async () => waiting.write(Buffer.from('x')), { code }, 'and at every later write')
    await t.rejects(waiting.end(), { code })
    const ending = createIntake(() => path, 4)
    void ending.write(Buffer.from('12345'))
    await t.rejects(ending.end(), { code }, 'at the end')
  }
  t.equal(readFileSync(join(dir, 'taken'), 'utf8'), 'of someone else')
  const refused = createIntake(() => join(dir, 'none', 'spool'), 4)
  await t.rejects(async () => refused.write(Buffer.alloc(1_000_000)))
  await refused.discard()
})

t.test('what is thrown away at once leaves no file', async t => {
  const dir = t.testdir()
  for (let count = 0; count < 200; count++) {
    const intake = createIntake(() => join(dir, `spool${count}`), 4)
    void intake.write(Buffer.from('12345'))
    await intake.discard()
  }
  // Had one been opened after it was removed, it would be there by now.
  await createIntake(() => join(dir, 'last'), 0).end()
  t.strictSame(readdirSync(dir), [])
})
