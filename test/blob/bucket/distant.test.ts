import { existsSync, globSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { v7 } from 'uuid'
import { type Clock, systemClock } from '../../../lib/base/clock.ts'
import { limits } from '../../../lib/base/limits.ts'
import { openDistant } from '../../../lib/blob/bucket/distant.ts'
import { type Bucket, openS3 } from '../../../lib/blob/bucket/s3.ts'
import { readContent } from '../../../lib/blob/content.ts'
import { openDisk } from '../../../lib/blob/disk.ts'
import { startBucket } from '../../support/bucket.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

async function open(
  t: Test,
  watch: (bucket: Bucket) => Partial<Bucket> = () => ({}),
  clock: Pick<Clock, 'now'> = systemClock,
) {
  const server = await startBucket(t)
  const dataDir = temporaryDir(t)
  const real = openS3(server.settings)
  const left: unknown[] = []
  const near = await openDisk(dataDir)
  const blobs = await openDistant(near, {
    dataDir,
    bucket: { ...real, ...watch(real) },
    clock,
    prefix: async () => 'here/',
    cacheBytes: 1000,
    left: error => left.push(error),
  })
  t.teardown(() => blobs.close())
  const spooled = (text: string) => {
    const path = blobs.spoolPath(v7())
    writeFileSync(path, text)
    return path
  }
  const cached = (id: string) => join(dataDir, 'cache', id)
  const textOf = async (id: string) => {
    const content = await blobs.find({ id, sizeBytes: (await blobs.sizeOf(id)) ?? 0, sha256: '' })
    return content && (await readContent(content)).toString()
  }
  return { ...server, dataDir, blobs, near, left, spooled, cached, textOf }
}

t.test('a cache that somebody removed is made again', async t => {
  const { blobs, spooled, textOf, dataDir } = await open(t)
  const cache = join(dataDir, 'cache')
  const id = v7()
  for (const dir of [cache, join(dataDir, 'spool')]) await rm(dir, { recursive: true })
  await blobs.keep(id, spooled('a large message'))
  t.equal(statSync(cache).mode & 0o777, 0o700)
  await rm(cache, { recursive: true })
  t.equal(await blobs.trimCache(), 0)
  t.equal(await textOf(id), 'a large message')
  t.strictSame(readdirSync(cache), [id])
})

t.test('what is kept lies in the bucket, and a copy comes back from there when it is asked for', async t => {
  let gets = 0
  const { blobs, spooled, cached, textOf, dataDir, left } = await open(t, bucket => ({
    get: (key, file, mostBytes) => {
      gets++
      return bucket.get(key, file, mostBytes)
    },
  }))
  const id = v7()
  t.equal(await blobs.find({ id, sizeBytes: 5, sha256: '' }), undefined)
  t.equal(await blobs.sizeOf(id), undefined)
  await blobs.keep(id, spooled('a large message'))
  gets = 0
  t.equal(await textOf(id), 'a large message')
  t.equal(gets, 0, 'what was just kept need not be fetched')
  await rm(cached(id))
  t.equal(await blobs.sizeOf(id), 15)
  t.strictSame(await Promise.all([textOf(id), textOf(id), textOf(id)]), Array(3).fill('a large message'))
  t.equal(gets, 1, 'who asks at the same time waits with the first')
  t.strictSame(readdirSync(join(dataDir, 'spool')), [])
  t.strictSame(await blobs.list(), [], 'the data directory has none')
  await blobs.remove(id)
  t.notOk(existsSync(cached(id)))
  t.equal(await textOf(id), undefined)
  await blobs.remove(id)
  t.strictSame(left, [])
})

t.test('what was kept before there was a bucket is found', async t => {
  const { blobs, near, spooled, textOf } = await open(t)
  const id = v7()
  await near.keep(id, spooled('older'))
  t.equal(await textOf(id), 'older')
  t.equal(await blobs.sizeOf(id), 5)
  t.strictSame(await blobs.list(), [id])
  await blobs.remove(id)
  t.equal(await near.find({ id, sizeBytes: 5, sha256: '' }), undefined)
})

t.test('a bucket is tried out, and nothing of it stays', async t => {
  const { blobs, dataDir, directory, stop } = await open(t)
  await blobs.tryOut()
  t.strictSame(globSync('**/try-*', { cwd: directory }), [], 'no object')
  t.strictSame(readdirSync(join(dataDir, 'spool')), [], 'and no file')
  await stop()
  await t.rejects(blobs.tryOut(), { name: 'BucketOut' })
  t.strictSame(readdirSync(join(dataDir, 'spool')), [])
})

t.test('without an answer nothing is promised: neither kept nor missing', async t => {
  let aheadMs = 0
  const clock = { now: () => new Date(systemClock.now().getTime() + aheadMs) }
  const { blobs, spooled, cached, left, stop, start, textOf } = await open(t, undefined, clock)
  const id = v7()
  await blobs.keep(id, spooled('there'))
  await rm(cached(id))
  await stop()
  const path = spooled('not kept')
  const other = v7()
  await t.rejects(blobs.keep(other, path), { name: 'BucketOut' })
  t.ok(existsSync(path), 'who spooled it still has it')
  t.notOk(existsSync(cached(other)))
  await t.rejects(textOf(id), { name: 'BucketOut' })
  t.equal(await blobs.remove(id), false)
  t.equal(left.length, 1, 'the object stays for the sweep')
  t.equal(await blobs.remove(other), false)
  t.equal(left.length, 1, 'the next is not waited for')
  await start()
  t.equal(await textOf(id), 'there')
  t.equal(await blobs.remove(id), false, 'not before a minute is over')
  aheadMs = limits.bucketRestMs
  t.equal(await blobs.remove(id), true)
  t.equal(await textOf(id), undefined)
})

t.test('only what lies in the bucket for longer than a day can be stray', async t => {
  const { blobs, spooled, directory } = await open(t)
  const [old, young] = [v7(), v7()]
  for (const id of [old, young]) await blobs.keep(id, spooled(id))
  const dayAgo = (systemClock.now().getTime() - limits.strayObjectMs - 60_000) / 1000
  const file = join(directory, 'here', old.slice(-2), old)
  const [name] = readdirSync(join(file, '..')).filter(one => one.startsWith(old) && one.includes('object'))
  utimesSync(join(file, '..', name!), dayAgo, dayAgo)
  const found: string[] = []
  for await (const ids of blobs.listDistant()) found.push(...ids)
  t.strictSame(found, [old])
})

t.test('an object without a row is set aside in the bucket, and taken back from there', async t => {
  const { blobs, spooled, textOf, directory, dataDir } = await open(t)
  const [one, other] = [v7(), v7()]
  for (const id of [one, other]) await blobs.keep(id, spooled(`the bytes of ${id}`))
  const strays = async () => {
    const found: string[] = []
    for await (const page of blobs.listStrays()) found.push(...page.map(({ id }) => id))
    return found.sort()
  }
  for (const id of [one, other]) await blobs.setAside(id)
  t.strictSame(await strays(), [one, other].sort())
  t.equal(await textOf(one), undefined)
  t.ok(readdirSync(join(directory, 'here', 'stray')).length > 0)
  const listed: string[] = []
  for await (const ids of blobs.listDistant()) listed.push(...ids)
  t.strictSame(listed, [], 'what is set aside is not looked at again')
  await blobs.takeBack(one)
  t.equal(await textOf(one), `the bytes of ${one}`)
  await blobs.removeStray(other)
  t.strictSame(await strays(), [])
  t.strictSame(readdirSync(join(dataDir, 'spool')), [])
  await blobs.setAside(v7())
})

t.test('copies go when they are too much or old, and never under who reads them', async t => {
  const { blobs, spooled, cached } = await open(t)
  const ids = Array.from({ length: 4 }, () => v7())
  for (const id of ids) await blobs.keep(id, spooled('x'.repeat(400)))
  const ago = (id: string, ms: number) => {
    const at = (systemClock.now().getTime() - ms) / 1000
    utimesSync(cached(id), at, at)
  }
  t.equal(await blobs.trimCache(), 0, 'all were read just now')
  ago(ids[1]!, limits.cacheKeptMs + 60_000)
  ago(ids[2]!, limits.cacheKeptMs + 120_000)
  ago(ids[3]!, limits.cacheKeptMs + 180_000)
  t.equal(await blobs.trimCache(), 2, 'until the rest has room')
  t.strictSame(
    ids.map(id => existsSync(cached(id))),
    [true, true, false, false],
  )
  ago(ids[1]!, limits.cacheOldMs + 60_000)
  t.equal(await blobs.trimCache(), 1)
  t.equal(
    readFileSync(
      (await blobs.find({ id: ids[1]!, sizeBytes: 400, sha256: '' }))!.kind === 'file' ? cached(ids[1]!) : '',
      'utf8',
    ).length,
    400,
  )
})

t.test('another data directory with the same keys reads, and neither puts nor deletes', async t => {
  const first = await open(t)
  const id = v7()
  await first.blobs.keep(id, first.spooled('of the first'))
  const dataDir = temporaryDir(t)
  const left: unknown[] = []
  const copy = await openDistant(await openDisk(dataDir), {
    dataDir,
    bucket: openS3(first.settings),
    clock: systemClock,
    prefix: async () => 'here/',
    cacheBytes: 1000,
    left: error => left.push(error),
  })
  t.teardown(() => copy.close())
  t.equal(
    (await readContent((await copy.find({ id, sizeBytes: 12, sha256: '' }))!)).toString(),
    'of the first',
  )
  const path = copy.spoolPath(v7())
  writeFileSync(path, 'of the copy')
  const fault = {
    name: 'BlobsFault',
    message: /belong to another copy of this installation \(.* on .*\): .* delete the object here\.owner$/,
  }
  await t.rejects(copy.keep(v7(), path), fault)
  await t.rejects(copy.tryOut(), fault)
  await t.rejects(async () => {
    for await (const ids of copy.listDistant()) t.fail(`${ids}`)
  }, fault)
  t.equal(await copy.remove(id), false)
  t.match(left, [fault])
  t.equal(await first.blobs.sizeOf(id), 12, 'it is there')
  t.strictSame(readdirSync(join(dataDir, 'spool')), [path.slice(path.lastIndexOf('/') + 1)])
  const empty = join(temporaryDir(t), 'empty')
  writeFileSync(empty, '')
  await openS3(first.settings).put('here.owner', empty, 0)
  await t.rejects(copy.keep(v7(), path), {
    name: 'BlobsFault',
    message: /the object here\.owner, .* is empty: where no other installation uses them, delete it$/,
  })
  // The operator has stopped the first one for good.
  await openS3(first.settings).delete('here.owner')
  await copy.keep(v7(), path)
  await t.rejects(first.blobs.tryOut(), fault, 'who is asked anew gives it up')
})

t.test('what is moved to the bucket is compared there, and nothing is put twice', async t => {
  let damage: 'other bytes' | 'nothing' | undefined
  let puts = 0
  let gets = 0
  const { blobs, near, textOf, dataDir, cached } = await open(t, bucket => ({
    put: (key, file, sizeBytes) => {
      puts += key.endsWith('.owner') ? 0 : 1
      return bucket.put(key, file, sizeBytes)
    },
    async get(key, file, mostBytes) {
      const came = await bucket.get(key, file, mostBytes)
      if (key.endsWith('.owner')) return came
      gets++
      if (damage === 'other bytes') writeFileSync(file, 'a large massage')
      return damage === 'nothing' ? undefined : came
    },
  }))
  const id = v7()
  const spooled = near.spoolPath(id)
  writeFileSync(spooled, 'a large message')
  await near.keep(id, spooled)
  for (const what of ['other bytes', 'nothing'] as const) {
    const other = v7()
    writeFileSync(near.spoolPath(other), 'a large message')
    await near.keep(other, near.spoolPath(other))
    damage = what
    for (const call of ['first', 'second']) {
      await t.rejects(blobs.copyToBucket(other), { message: /is not what was put there/ }, `${call} call`)
      t.equal(await near.sizeOf(other), 15, 'the file stays')
    }
    damage = undefined
  }
  puts = gets = 0
  t.strictSame(await blobs.copyToBucket(id), { sizeBytes: 15, isNew: true })
  t.strictSame(await blobs.copyToBucket(id), { sizeBytes: 15, isNew: false })
  t.equal(puts, 1)
  t.equal(gets, 1, 'and compared once')
  t.equal(readFileSync(join(dataDir, 'bucket.compared'), 'utf8').split('\n').at(-1), id)
  await blobs.removeFromDisk(id)
  t.equal(await near.sizeOf(id), undefined)
  t.equal(await textOf(id), 'a large message')
  t.equal(await blobs.copyToBucket(id), undefined, 'there is no file to put')

  const file = { id, sizeBytes: 15, sha256: '' }
  const longer = { message: /gives 15 bytes for the raw .* which has 16/ }
  await t.rejects(blobs.copyToDisk({ id, sizeBytes: 16, sha256: '' }), longer)
  await t.rejects(blobs.copyToDisk({ id, sizeBytes: 14, sha256: '' }), { message: /more than the 14 bytes/ })
  t.equal(await near.sizeOf(id), undefined, 'what is not as long as its row says is not kept')
  t.strictSame(await blobs.copyToDisk(file), { sizeBytes: 15, isNew: true })
  t.strictSame(await blobs.copyToDisk(file), { sizeBytes: 15, isNew: false })
  t.equal(await near.sizeOf(id), 15)
  writeFileSync(near.spoolPath(id), 'cut')
  await near.keep(id, near.spoolPath(id))
  t.strictSame(await blobs.copyToDisk(file), { sizeBytes: 15, isNew: true }, 'what is damaged here is mended')
  t.equal(await blobs.copyToDisk({ id: v7(), sizeBytes: 15, sha256: '' }), undefined, 'neither has it')
  await near.remove(id)
  writeFileSync(cached(id), 'cut')
  t.equal(await textOf(id), 'a large message', 'a copy that is cut off is fetched anew')
  t.strictSame(readdirSync(join(dataDir, 'spool')), [])
})

t.test('what another copy has in the bucket is no reason to let go of a file', async t => {
  const { blobs, spooled, settings } = await open(t)
  const id = v7()
  await blobs.keep(id, spooled('a large message'))
  const dataDir = temporaryDir(t)
  const near = await openDisk(dataDir)
  const copy = await openDistant(near, {
    dataDir,
    bucket: openS3(settings),
    clock: systemClock,
    prefix: async () => 'here/',
    cacheBytes: 1000,
    left: () => {},
  })
  t.teardown(() => copy.close())
  writeFileSync(near.spoolPath(id), 'a large message')
  await near.keep(id, near.spoolPath(id))
  await t.rejects(copy.copyToBucket(id), { message: /belong to another copy of this installation/ })
})

t.test('what is deleted while it is moved is no fault', async t => {
  let gone: (() => Promise<unknown>) | undefined
  const { blobs, near } = await open(t, bucket => ({
    async put(key, file, sizeBytes) {
      if (!key.endsWith('.owner')) await gone?.()
      return bucket.put(key, file, sizeBytes)
    },
  }))
  const id = v7()
  writeFileSync(near.spoolPath(id), 'a large message')
  await near.keep(id, near.spoolPath(id))
  gone = () => near.remove(id)
  t.equal(await blobs.copyToBucket(id), undefined)
})

t.test('what can be the id of no object is neither asked for nor deleted', async t => {
  const asked: string[] = []
  const { blobs, dataDir } = await open(t, bucket => ({
    get: (key, file, mostBytes) => {
      asked.push(key)
      return bucket.get(key, file, mostBytes)
    },
    sizeOf: async key => void asked.push(key),
    delete: async key => void asked.push(key),
  }))
  writeFileSync(join(dataDir, 'secrets.key'), 'the key')
  const damaged = /a row is damaged/
  for (const id of ['../secrets.key', '../../other/x', 'x?acl']) {
    await t.rejects(blobs.find({ id, sizeBytes: 7, sha256: '' }), damaged, `find ${id}`)
    await t.rejects(blobs.sizeOf(id), damaged, `sizeOf ${id}`)
    await t.rejects(blobs.remove(id), damaged, `remove ${id}`)
    await t.rejects(blobs.copyToBucket(id), damaged, `copyToBucket ${id}`)
    await t.rejects(blobs.copyToDisk({ id, sizeBytes: 7, sha256: '' }), damaged, `copyToDisk ${id}`)
  }
  t.strictSame(asked, [])
  t.ok(existsSync(join(dataDir, 'secrets.key')))
})
