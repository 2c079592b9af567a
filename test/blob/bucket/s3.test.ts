import { hash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { BucketOut } from '../../../lib/base/faults.ts'
import { openS3 } from '../../../lib/blob/bucket/s3.ts'
import { sumFile } from '../../../lib/blob/content.ts'
import { startBucket } from '../../support/bucket.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

t.test('what is put can be had again, byte for byte, until it is deleted', async t => {
  const { settings } = await startBucket(t)
  const told: string[] = []
  const bucket = openS3(settings, (method, why) => told.push(`${method} ${why === undefined}`))
  t.teardown(() => bucket.close())
  const dir = temporaryDir(t)
  const bytes = Buffer.alloc(3_000_001, 'mail\r\n')
  writeFileSync(join(dir, 'one'), bytes)
  const sum = await sumFile(join(dir, 'one'))
  t.equal(await bucket.sizeOf('a/b/one'), undefined)
  t.equal(await bucket.get('a/b/one', join(dir, 'none'), bytes.length), undefined)
  await bucket.put('a/b/one', join(dir, 'one'), sum)
  t.equal(await bucket.sizeOf('a/b/one'), bytes.length)
  t.strictSame(await bucket.get('a/b/one', join(dir, 'again'), bytes.length), sum)
  t.ok(readFileSync(join(dir, 'again')).equals(bytes))
  await t.rejects(bucket.get('a/b/one', join(dir, 'less'), bytes.length - 1), {
    name: 'BlobsFault',
    message: /more than the 3000000 bytes/,
  })
  writeFileSync(join(dir, 'none'), '')
  const nothing = await sumFile(join(dir, 'none'))
  await bucket.put('a/c/none', join(dir, 'none'), nothing)
  await bucket.put('elsewhere', join(dir, 'none'), nothing)
  const { objects, next } = await bucket.list('a/', undefined)
  t.strictSame(
    objects.map(({ key }) => key),
    ['a/b/one', 'a/c/none'],
  )
  t.ok(objects.every(({ ageMs }) => ageMs > -60_000 && ageMs < 600_000))
  t.equal(next, undefined)
  await bucket.delete('a/b/one')
  await bucket.delete('a/b/one')
  t.equal(await bucket.get('a/b/one', join(dir, 'gone'), 1), undefined)
  t.strictSame(
    told,
    [
      ...['HEAD true', 'GET true', 'GET true', 'PUT true', 'HEAD true', 'GET true'],
      ...['GET false', 'PUT true', 'PUT true', 'GET true', 'DELETE true', 'DELETE true', 'GET true'],
    ],
    'each once, at its end',
  )
})

t.test('what a server refuses is told in its words', async t => {
  const { settings } = await startBucket(t)
  const dir = temporaryDir(t)
  const file = join(dir, 'one')
  writeFileSync(file, 'x')
  const x = await sumFile(file)
  const told: string[] = []
  const wrong = openS3(
    { ...settings, credentials: async () => ({ accessKeyId: 'S3RVER', secretAccessKey: 'wrong' }) },
    (method, why) => told.push(`${method} ${why?.name}`),
  )
  t.teardown(() => wrong.close())
  for (const ask of [
    () => wrong.put('k', file, x),
    () => wrong.get('k', join(dir, 'two'), 1).then(() => {}),
    () => wrong.delete('k'),
    () => wrong.list('', undefined).then(() => {}),
  ]) {
    await t.rejects(ask(), {
      name: 'BucketOut',
      message: /^the bucket mail answered 403: SignatureDoesNotMatch/,
    })
  }
  t.strictSame(told, ['PUT BucketOut', 'GET BucketOut', 'DELETE BucketOut', 'GET BucketOut'])
  const none = openS3({ ...settings, bucket: 'none-such' })
  t.teardown(() => none.close())
  for (const ask of [
    () => none.put('k', file, x),
    () => none.get('k', join(dir, 'two'), 1).then(() => {}),
    () => none.list('', undefined).then(() => {}),
  ]) {
    await t.rejects(ask(), { name: 'BucketOut', message: /no bucket none-such/ })
  }
})

t.test('a secret that can not be read is no fault of the bucket, which is not asked', async t => {
  const { settings } = await startBucket(t)
  const told: string[] = []
  const path = '/run/credentials/none.service/s3'
  const secretless = openS3(
    {
      ...settings,
      credentials: async () => ({ accessKeyId: 'K', secretAccessKey: await readFile(path, 'utf8') }),
    },
    (method, why) => told.push(`${method} ${why?.name}`),
  )
  t.teardown(() => secretless.close())
  await t.rejects(secretless.delete('k'), {
    name: 'BucketOut',
    message:
      /^the secret of the bucket's key can not be read \(s3\.secret_access_key_file\): \S+ is there while the unit runs alone/,
  })
  t.strictSame(told, ['DELETE BucketOut'])
})

const abc = { sizeBytes: 3, sha256: hash('sha256', 'abc') }

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A server that answers one request after the other so, and the last way for ever. */
async function startScripted(t: Test, answers: readonly Answer[], timeoutMs = 60_000) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    request.resume().on('end', () => answers[Math.min(asked.length, answers.length) - 1]!(request, response))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const bucket = openS3({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'us-east-1',
    bucket: 'mail',
    encryption: 'AES256',
    timeoutMs,
    credentials: async () => ({ accessKeyId: 'a', secretAccessKey: 'b' }),
  })
  t.teardown(() => bucket.close())
  const dir = temporaryDir(t)
  writeFileSync(join(dir, 'one'), 'abc')
  return { bucket, asked, file: join(dir, 'one'), to: join(dir, 'two') }
}

const says =
  (status: number, body = '', headers = {}): Answer =>
  (_request, response) => {
    response.writeHead(status, headers).end(body)
  }
const breaks: Answer = (_request, response) => {
  response.socket?.destroy()
}
const stays: Answer = () => {}
const cutsOff: Answer = (_request, response) => {
  response.writeHead(200, { 'content-length': '10' })
  response.write('abc')
  response.socket?.end()
}

t.test('what may be over soon is asked again, three times at the most', async t => {
  for (const bad of [says(500), says(503, '<Error><Code>SlowDown</Code></Error>'), says(429), breaks]) {
    const well = await startScripted(t, [bad, bad, says(200)])
    await well.bucket.put('k', well.file, abc)
    t.equal(well.asked.length, 3)
    const ill = await startScripted(t, [bad])
    await t.rejects(ill.bucket.put('k', ill.file, abc), BucketOut)
    t.equal(ill.asked.length, 3)
  }
  const silent = await startScripted(t, [stays], 300)
  const unasked = /^the bucket mail at http:\/\/127\.0\.0\.1:\d+ can not be asked: /
  await t.rejects(silent.bucket.put('k', silent.file, abc), { message: unasked, cause: Error })
  t.ok(silent.asked.length <= 3)
  const cut = await startScripted(t, [cutsOff, says(200, 'whole')])
  t.match(await cut.bucket.get('k', cut.to, 9), { sizeBytes: 5 })
  t.equal(readFileSync(cut.to, 'utf8'), 'whole')
  const refused = await startScripted(t, [
    says(403, '<Error><Code>AccessDenied</Code><Message>No</Message></Error>'),
  ])
  await t.rejects(refused.bucket.delete('k'), { message: /403: AccessDenied \(No\)/ })
  t.equal(refused.asked.length, 1, 'a refusal is one')
})

t.test('a list is read to its end, and what is none is no empty list', async t => {
  const date = 'Fri, 02 Jan 2026 00:00:00 GMT'
  const page = (keys: readonly string[], more: string) =>
    `<?xml version="1.0"?><ListBucketResult><Name>mail</Name>${more}${keys
      .map(
        key =>
          `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><Owner><ID>Key</ID></Owner></Contents>`,
      )
      .join('')}</ListBucketResult>`
  const first = page(
    ['a&amp;1', 'a2'],
    '<IsTruncated>true</IsTruncated><NextContinuationToken>t&amp;=</NextContinuationToken>',
  )
  const { bucket, asked } = await startScripted(t, [
    says(200, first, { date }),
    says(200, page(['a3'], '<IsTruncated>false</IsTruncated>'), { date }),
  ])
  t.strictSame(await bucket.list('a', undefined), {
    objects: [
      { key: 'a&1', ageMs: 86_400_000 },
      { key: 'a2', ageMs: 86_400_000 },
    ],
    next: 't&=',
  })
  t.strictSame(await bucket.list('a', 't&='), {
    objects: [{ key: 'a3', ageMs: 86_400_000 }],
    next: undefined,
  })
  t.match(asked[1], 'continuation-token=t%26%3D')
  for (const none of [
    '',
    '<html>hello</html>',
    page([], '<IsTruncated>true</IsTruncated>'),
    'x'.repeat(5_000_000),
  ]) {
    const { bucket } = await startScripted(t, [says(200, none)])
    await t.rejects(
      bucket.list('a', undefined).then(() => {}),
      BucketOut,
    )
  }
})

t.test('only the bucket itself can say that an object is not there', async t => {
  const gone = says(404, '<Error><Code>NoSuchKey</Code><Message>none</Message></Error>')
  const well = await startScripted(t, [gone])
  t.equal(await well.bucket.get('k', well.to, 9), undefined)
  t.equal(await well.bucket.sizeOf('k'), undefined)
  for (const body of ['', '<html>404 page not found</html>', '<Error><Code>NoSuchUpload</Code></Error>']) {
    const { bucket, to } = await startScripted(t, [says(404, body)])
    await t.rejects(bucket.get('k', to, 9), { name: 'BucketOut', message: /answered 404/ }, body)
    await t.rejects(bucket.sizeOf('k'), { name: 'BucketOut', message: /answered 404/ }, body)
  }
  const torn = await startScripted(t, [says(404), says(206, 'a')])
  await t.rejects(torn.bucket.sizeOf('k'), { name: 'BlobsFault', message: /it is there and it is not there/ })
})

t.test('a removal is asked for once', async t => {
  const { bucket, asked } = await startScripted(t, [says(500)])
  await t.rejects(bucket.delete('k'), BucketOut)
  t.equal(asked.length, 1)
})
