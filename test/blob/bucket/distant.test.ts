import { hash } from 'node:crypto'
import { existsSync, globSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { v7 } from 'uuid'
import { type Clock, systemClock } from '../../../lib/base/time.ts'
import type { Blobs } from '../../../lib/blob/blobs.ts'
import {
  bucketRestMs,
  cacheKeptMs,
  cacheOldMs,
  openDistant,
  strayObjectMs,
} from '../../../lib/blob/bucket/distant.ts'
import { type Bucket, openS3 } from '../../../lib/blob/bucket/s3.ts'
import { readContent, sumFile } from '../../../lib/blob/content.ts'
import { openDisk } from '../../../lib/blob/disk.ts'
import { startBucket } from '../../support/bucket.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

/** What a row says of a raw with this text. */
const fileOf = (id: string, text: string) => ({
  id,
  sizeBytes: Buffer.byteLength(text),
  sha256: hash('sha256', text),
})

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
    prefix: 'here/',
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
  const texts = new Map<string, string>()
  const keep = async (id: string, text: string, to: Blobs = blobs) => {
    texts.set(id, text)
    await to.keep(fileOf(id, text), spooled(text))
  }
  const textOf = async (id: string) => {
    const content = await blobs.find(fileOf(id, texts.get(id) ?? 'unknown'))
    return content && (await readContent(content)).toString()
  }
  return { ...server, dataDir, blobs, near, left, spooled, cached, keep, textOf }
}

t.test('a cache that somebody removed is made again', async t => {
  const { blobs, keep, textOf, dataDir } = await open(t)
  const cache = join(dataDir, 'cache')
  const id = v7()
  for (const dir of [cache, join(dataDir, 'spool')]) await rm(dir, { recursive: true })
  await keep(id, 'a large message')
  t.equal(statSync(cache).mode & 0o777, 0o700)
  await rm(cache, { recursive: true })
  t.equal(await blobs.trimCache(), 0)
  t.equal(await textOf(id), 'a large message')
  t.strictSame(readdirSync(cache), [id])
})

t.test('what is kept lies in the bucket, and a copy comes back from there when it is asked for', async t => {
  let gets = 0
  const { blobs, keep, cached, textOf, dataDir, left } = await open(t, bucket => ({
    get: (key, file, mostBytes) => {
      gets++
      return bucket.get(key, file, mostBytes)
    },
  }))
  const id = v7()
  t.equal(await blobs.find(fileOf(id, 'older')), undefined)
  t.equal(await blobs.sizeOf(id), undefined)
  await keep(id, 'a large message')
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
  const { blobs, near, keep, textOf } = await open(t)
  const id = v7()
  await keep(id, 'older', near)
  t.equal(await textOf(id), 'older')
  t.equal(await blobs.sizeOf(id), 5)
  t.strictSame(await blobs.list(), [id])
  await blobs.remove(id)
  t.equal(await near.find(fileOf(id, 'older')), undefined)
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
  const { blobs, keep, spooled, cached, left, stop, start, textOf } = await open(t, undefined, clock)
  const id = v7()
  await keep(id, 'there')
  await rm(cached(id))
  await stop()
  const path = spooled('not kept')
  const other = v7()
  await t.rejects(blobs.keep(fileOf(other, 'not kept'), path), { name: 'BucketOut' })
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
  aheadMs = bucketRestMs
  t.equal(await blobs.remove(id), true)
  t.equal(await textOf(id), undefined)
})

t.test('only what lies in the bucket for longer than a day can be stray', async t => {
  const { blobs, keep, directory } = await open(t)
  const [old, young] = [v7(), v7()]
  for (const id of [old, young]) await keep(id, id)
  const dayAgo = (systemClock.now().getTime() - strayObjectMs - 60_000) / 1000
  const file = join(directory, 'here', old.slice(-2), old)
  const [name] = readdirSync(join(file, '..')).filter(one => one.startsWith(old) && one.includes('object'))
  utimesSync(join(file, '..', name!), dayAgo, dayAgo)
  const found: string[] = []
  for await (const ids of blobs.listDistant()) found.push(...ids)
  t.strictSame(found, [old])
})

t.test('an object without a row is set aside in the bucket, and taken back from there', async t => {
  const { blobs, keep, textOf, directory, dataDir } = await open(t)
  const [one, other] = [v7(), v7()]
  for (const id of [one, other]) await keep(id, `the bytes of ${id}`)
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
  const { blobs, keep, cached } = await open(t)
  const ids = Array.from({ length: 4 }, () => v7())
  for (const id of ids) await keep(id, 'x'.repeat(400))
  const ago = (id: string, ms: number) => {
    const at = (systemClock.now().getTime() - ms) / 1000
    utimesSync(cached(id), at, at)
  }
  t.equal(await blobs.trimCache(), 0, 'all were read just now')
  ago(ids[1]!, cacheKeptMs + 60_000)
  ago(ids[2]!, cacheKeptMs + 120_000)
  ago(ids[3]!, cacheKeptMs + 180_000)
  t.equal(await blobs.trimCache(), 2, 'until the rest has room')
  t.strictSame(
    ids.map(id => existsSync(cached(id))),
    [true, true, false, false],
  )
  ago(ids[1]!, cacheOldMs + 60_000)
  t.equal(await blobs.trimCache(), 1)
  t.equal(
    readFileSync(
      (await blobs.find(fileOf(ids[1]!, 'x'.repeat(400))))!.kind === 'file' ? cached(ids[1]!) : '',
      'utf8',
    ).length,
    400,
  )
})

t.test('another data directory with the same keys reads, and neither puts nor deletes', async t => {
  const first = await open(t)
  const id = v7()
  await first.keep(id, 'of the first')
  const dataDir = temporaryDir(t)
  const left: unknown[] = []
  const copy = await openDistant(await openDisk(dataDir), {
    dataDir,
    bucket: openS3(first.settings),
    clock: systemClock,
    prefix: 'here/',
    cacheBytes: 1000,
    left: error => left.push(error),
  })
  t.teardown(() => copy.close())
  t.equal((await readContent((await copy.find(fileOf(id, 'of the first')))!)).toString(), 'of the first')
  const path = copy.spoolPath(v7())
  writeFileSync(path, 'of the copy')
  const fault = {
    name: 'BlobsFault',
    message:
      /belong to another installation or to the original of this copy \(.* on .*\): .* delete the object here\/mailboxd\.owner$/,
  }
  await t.rejects(copy.keep(fileOf(v7(), 'of the copy'), path), fault)
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
  await openS3(first.settings).put('here/mailboxd.owner', empty, { sizeBytes: 0, sha256: hash('sha256', '') })
  await t.rejects(copy.keep(fileOf(v7(), 'of the copy'), path), {
    name: 'BlobsFault',
    message: /the object here\/mailboxd\.owner, .* is empty: if no other installation uses them, delete it$/,
  })
  // The operator has stopped the first one for good.
  await openS3(first.settings).delete('here/mailboxd.owner')
  await copy.keep(fileOf(v7(), 'of the copy'), path)
  await t.rejects(first.blobs.tryOut(), fault, 'who is asked anew gives it up')
})

t.test('what is put into the bucket by a move is read back, and what it returns is compared', async t => {
  let harm: ((file: string) => void) | undefined
  const { blobs, spooled, textOf, keep, near, cached, dataDir } = await open(t, bucket => ({
    async get(key, file, mostBytes) {
      const came = await bucket.get(key, file, mostBytes)
      if (key.endsWith('.owner') || came === undefined) return came
      harm?.(file)
      return sumFile(file)
    },
  }))
  const [text, id] = ['a large message', v7()]
  harm = file => writeFileSync(file, 'a large massage')
  await t.rejects(blobs.upload(fileOf(id, text), spooled(text)), {
    message: /returns other bytes for the raw/,
  })
  harm = undefined
  await blobs.upload(fileOf(id, text), spooled(text))
  t.equal(await blobs.download(fileOf(v7(), text), async () => {}), false, 'there is none')
  const kept: string[] = []
  await blobs.download(fileOf(id, text), async part => void kept.push(readFileSync(part, 'utf8')))
  t.strictSame(kept, [text])
  for (const other of ['a large massage', 'a large message, and more', 'a large'])
    await t.rejects(
      blobs.download(fileOf(id, other), async () => t.fail('kept')),
      { name: 'BlobsFault' },
      other,
    )

  const read = v7()
  await keep(read, text)
  writeFileSync(cached(read), 'cut')
  t.equal(await textOf(read), text, 'a copy that is cut off is fetched again')
  await rm(cached(read))
  harm = file => writeFileSync(file, 'a large massage')
  await t.rejects(
    textOf(read),
    { message: /returns other bytes for the raw/ },
    'a reader never gets other bytes',
  )
  t.equal(await near.sizeOf(read), undefined)
  t.strictSame(readdirSync(join(dataDir, 'spool')).length, 2, 'the two spool files of the test')
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
    await t.rejects(blobs.find(fileOf(id, 'the key')), damaged, `find ${id}`)
    await t.rejects(blobs.sizeOf(id), damaged, `sizeOf ${id}`)
    await t.rejects(blobs.remove(id), damaged, `remove ${id}`)
    await t.rejects(blobs.upload(fileOf(id, 'the key'), ''), damaged, `upload ${id}`)
    await t.rejects(
      blobs.download(fileOf(id, 'the key'), async () => {}),
      damaged,
      `download ${id}`,
    )
  }
  t.strictSame(asked, [])
  t.ok(existsSync(join(dataDir, 'secrets.key')))
})
