import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { v7 } from 'uuid'
import { openContent } from '../../lib/blob/content.ts'
import { openDisk } from '../../lib/blob/disk.ts'
import { createIntake } from '../../lib/blob/intake.ts'

t.test('a spool file is moved to its place, found there, and removed', async t => {
  const dataDir = t.testdir()
  const disk = await openDisk(dataDir)
  const id = v7()
  t.equal(await disk.find({ id, sizeBytes: 9, sha256: '' }), undefined)
  const spooled = disk.spoolPath(v7())
  writeFileSync(spooled, 'the bytes')
  await disk.keep({ id: id, sizeBytes: 9, sha256: '' }, spooled)
  t.notOk(existsSync(spooled))
  const found = await disk.find({ id, sizeBytes: 9, sha256: '' })
  t.match(found, { kind: 'file', sizeBytes: 9, path: join(dataDir, 'raw', id.slice(-2), id) })
  t.equal(Buffer.concat(await openContent(found!).toArray()).toString(), 'the bytes')
  await disk.remove(id)
  t.equal(await disk.find({ id, sizeBytes: 9, sha256: '' }), undefined)
  await disk.remove(id)
})

t.test('what others have put beside the folders of large messages is passed over', async t => {
  const dataDir = t.testdir({ raw: { 'lost+found': { [v7()]: '' }, stray: '' } })
  const disk = await openDisk(dataDir)
  const id = v7()
  writeFileSync(disk.spoolPath(id), '')
  await disk.keep({ id: id, sizeBytes: 9, sha256: '' }, disk.spoolPath(id))
  t.strictSame(await disk.list(), [id])
})

t.test('the directories are for their owner alone', async t => {
  const dataDir = t.testdir()
  const disk = await openDisk(dataDir)
  const id = v7()
  writeFileSync(disk.spoolPath(id), '')
  await disk.keep({ id: id, sizeBytes: 9, sha256: '' }, disk.spoolPath(id))
  for (const dir of ['spool', 'raw', join('raw', id.slice(-2))]) {
    t.equal(statSync(join(dataDir, dir)).mode & 0o777, 0o700, dir)
  }
})

t.test('a spool that somebody removed is made again, and the data directory is not', async t => {
  const dataDir = t.testdir({ data: {} })
  const disk = await openDisk(join(dataDir, 'data'))
  rmSync(join(dataDir, 'data', 'spool'), { recursive: true })
  const id = v7()
  const intake = createIntake(() => disk.spoolPath(v7()), 4)
  await intake.write(Buffer.from('a large message'))
  const content = await intake.end()
  t.match(content, { kind: 'file' })
  t.equal(statSync(join(dataDir, 'data', 'spool')).mode & 0o777, 0o700)
  await disk.keep({ id: id, sizeBytes: 9, sha256: '' }, content.kind === 'file' ? content.path : '')
  t.match(await disk.find({ id, sizeBytes: 15, sha256: '' }), { sizeBytes: 15 })
  rmSync(join(dataDir, 'data'), { recursive: true })
  t.throws(() => disk.spoolPath(id), { code: 'ENOENT' })
  t.notOk(existsSync(join(dataDir, 'data')))
})

t.test('a start clears the spool and leaves the raws alone', async t => {
  const dataDir = t.testdir()
  const before = await openDisk(dataDir)
  const id = v7()
  for (const name of [id, 'a', 'b']) writeFileSync(before.spoolPath(name), name)
  await before.keep({ id: id, sizeBytes: 9, sha256: '' }, before.spoolPath(id))
  const after = await openDisk(dataDir)
  await after.clearSpool()
  t.strictSame(readdirSync(join(dataDir, 'spool')), [])
  const found = await after.find({ id, sizeBytes: 9, sha256: '' })
  t.equal(found?.kind === 'file' && readFileSync(found.path, 'utf8'), id)
})

t.test('what is not there to be kept is an error, and makes nothing', async t => {
  const dataDir = t.testdir()
  const disk = await openDisk(dataDir)
  const id = v7()
  await t.rejects(disk.keep({ id: id, sizeBytes: 9, sha256: '' }, disk.spoolPath(id)), { code: 'ENOENT' })
  t.equal(await disk.find({ id, sizeBytes: 9, sha256: '' }), undefined)
})

t.test('where raws were kept and none is, nothing is said to be gone, and nothing is kept', async t => {
  const dataDir = t.testdir()
  const disk = await openDisk(dataDir)
  t.equal(
    await disk.find({ id: v7(), sizeBytes: 9, sha256: '' }),
    undefined,
    'nothing was kept yet: what is not there is not there',
  )
  const [id, next] = [v7(), v7()]
  for (const one of [id, next]) writeFileSync(disk.spoolPath(one), one)
  await disk.keep({ id: id, sizeBytes: 9, sha256: '' }, disk.spoolPath(id))
  // As when the disk below raw is unmounted: what was there is out of sight, and comes back.
  const raw = join(dataDir, 'raw')
  renameSync(raw, join(dataDir, 'elsewhere'))
  mkdirSync(raw)
  const fault = { name: 'BlobsFault', message: /is empty, and large messages were kept there: mount/ }
  await t.rejects(disk.find({ id, sizeBytes: 9, sha256: '' }), fault)
  await t.rejects(disk.sizeOf(id), fault)
  await t.rejects(disk.keep({ id: next, sizeBytes: 9, sha256: '' }, disk.spoolPath(next)), fault)
  t.strictSame(readdirSync(raw), [])
  await t.rejects(openDisk(dataDir), fault)
  rmdirSync(raw)
  await t.rejects(openDisk(dataDir), fault, 'nor is it made anew')
  renameSync(join(dataDir, 'elsewhere'), raw)
  t.equal((await disk.find({ id, sizeBytes: 9, sha256: '' }))?.kind, 'file')
  await disk.keep({ id: next, sizeBytes: 9, sha256: '' }, disk.spoolPath(next))
  await disk.remove(id)
  await disk.remove(next)
  t.equal(
    await (await openDisk(dataDir)).find({ id, sizeBytes: 9, sha256: '' }),
    undefined,
    'what was removed is gone',
  )
})

t.test('an installation of before, that has raws, has them watched from its next start on', async t => {
  const dataDir = t.testdir({ raw: { '3f': { one: 'x' } } })
  await openDisk(dataDir)
  rmSync(join(dataDir, 'raw'), { recursive: true })
  await t.rejects(openDisk(dataDir), { name: 'BlobsFault' })
  rmSync(join(dataDir, 'raw.used'))
  await openDisk(dataDir)
})

t.test('what can be the id of no file leads to none', async t => {
  const dataDir = t.testdir({ 'secrets.key': 'the key' })
  const disk = await openDisk(dataDir)
  const damaged = /a row is damaged/
  for (const id of ['../../secrets.key', '..', '/etc/passwd', `${v7()}/x`, v7().toUpperCase(), '']) {
    await t.rejects(disk.find({ id, sizeBytes: 7, sha256: '' }), damaged, `find ${id}`)
    await t.rejects(disk.sizeOf(id), damaged, `sizeOf ${id}`)
    await t.rejects(disk.remove(id), damaged, `remove ${id}`)
    const spooled = disk.spoolPath('x')
    writeFileSync(spooled, '')
    await t.rejects(disk.keep({ id: id, sizeBytes: 9, sha256: '' }, spooled), damaged, `keep ${id}`)
  }
  t.equal(readFileSync(join(dataDir, 'secrets.key'), 'utf8'), 'the key')
  mkdirSync(join(dataDir, 'raw', 'xx'))
  writeFileSync(join(dataDir, 'raw', 'xx', 'of somebody'), '')
  t.strictSame(await disk.list(), [], 'what is not called as ours is none of ours')
})
