import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { apiOf } from '../support/api.ts'
import { startBucket } from '../support/bucket.ts'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import { createInbox } from '../support/mailbox.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { until } from '../support/until.ts'

const large = (name: string) =>
  `Message-ID: <${name}@example.net>\r\nSubject: ${name}\r\n\r\n${`${name.padEnd(998, 'x')}\r\n`.repeat(400)}`

async function bring(daemon: TestDaemon, to: string, name: string): Promise<number> {
  const dialog = await greetedDialog(daemon.smtpPort)
  await dialog.envelope('bob@example.net', to)
  const said = await dialog.data(large(name))
  dialog.end()
  return said.code
}

const below = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())

t.test('large messages move to a bucket and back, and are found before and after', async t => {
  const bucket = await startBucket(t)
  const objects = () =>
    below(bucket.directory).filter(({ name }) => /[0-9a-f]{12}\._S3rver_object$/.test(name)).length
  let daemon = await startDaemon(t, {})
  const ann = await createInbox(daemon, 'ann')
  const { token } = await daemon.createKey()
  const files = () => below(join(daemon.dataDir, 'raw')).length
  const found = async () => {
    const { body } = await apiOf(daemon.baseUrl, token).get(`/v1/inboxes/${ann.id}/messages?limit=100`)
    const texts = await Promise.all(
      body.data.map(async ({ id, subject }: { id: string; subject: string }) => {
        const answer = await fetch(`${daemon.baseUrl}/v1/messages/${id}/raw`, {
          headers: { authorization: `Bearer ${token}` },
        })
        return answer.status === 200 && (await answer.text()).trimEnd() === large(subject).trimEnd()
      }),
    )
    return texts.filter(Boolean).length
  }
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await daemon.ctlResult('migrate', ...args)
    return { code, stderr, ...(stdout === '' ? {} : { report: JSON.parse(stdout) }) }
  }
  for (const name of ['one', 'two', 'three']) t.equal(await bring(daemon, ann.address, name), 250)
  await until('three', async () => (await found()) === 3)
  t.equal(files(), 3)

  const early = await run('--blobs', 's3://mail/large')
  t.match([early.code, early.stderr], [1, /set blobs = .*s3:\/\/mail\/large.* and the table \[s3\]/])
  const neither = await daemon.ctlResult('migrate')
  t.match([neither.code, neither.stderr], [2, /--blobs for large messages/])

  t.equal(await daemon.end('SIGTERM'), 0)
  const config = readFileSync(daemon.configPath, 'utf8')
  writeFileSync(daemon.configPath, `${bucket.toml.replace(/\n\[s3\]/, `\n${config}\n[s3]`)}`)
  daemon = await daemon.restart()
  t.equal(await found(), 3)

  const running = /mailboxd runs: stop it .* and run the same command again/
  const beside = await run('--blobs', 's3://mail/large')
  t.match([beside.code, beside.stderr], [1, running])
  t.strictSame([files(), objects()], [3, 0])
  t.equal(await bring(daemon, ann.address, 'four'), 250)
  await until('the fourth', async () => (await found()) === 4)

  t.equal(await daemon.end('SIGTERM'), 0)
  await t.test('without the bucket nothing is taken from here', async t => {
    await bucket.stop()
    const failed = await run('--blobs', 's3://mail/large')
    t.match([failed.code, failed.stderr], [70, /the bucket mail at .* can not be asked/])
    t.equal(files(), 3)
    await bucket.start()
  })
  const [file] = below(join(daemon.dataDir, 'raw'))
  const write = (text: string) => {
    const opened = openSync(join(file!.parentPath, file!.name), 'r+')
    writeSync(opened, text, 200_000)
    closeSync(opened)
  }
  const byte = readFileSync(join(file!.parentPath, file!.name)).toString('latin1')[200_000]!
  write('?')
  t.match(await run('--blobs', 's3://mail/large'), {
    code: 1,
    report: { blobs: { files: 3, copied: 2, missing: 1 } },
  })
  t.strictSame([files(), objects()], [1, 3], 'a damaged file stays where it is')
  write(byte)
  t.match(await run('--blobs', 's3://mail/large'), {
    code: 0,
    report: { blobs: { files: 4, copied: 1, missing: 0 }, next: 'start mailboxd' },
  })
  t.strictSame([files(), objects()], [0, 4])
  rmSync(join(daemon.dataDir, 'cache'), { recursive: true })
  daemon = await daemon.restart()
  t.equal(await found(), 4, 'from the bucket')

  const back = await run('--blobs', 'disk')
  t.match([back.code, back.stderr], [1, running])
  t.equal(await bring(daemon, ann.address, 'five'), 250)
  await until('the fifth', async () => (await found()) === 5)
  t.equal(await daemon.end('SIGTERM'), 0)
  const rest = await run('--blobs', 'disk')
  t.match(rest, {
    code: 0,
    report: { blobs: { files: 5, copied: 5 }, next: /take `blobs` out of .*the objects stay/ },
  })
  t.strictSame([files(), objects()], [5, 5])
  writeFileSync(daemon.configPath, config)
  rmSync(join(daemon.dataDir, 'cache'), { recursive: true })
  await bucket.stop()
  daemon = await daemon.restart()
  t.equal(await found(), 5, 'from the data directory')
  t.match(await daemon.ctl('verify'), { ok: true })
  t.notOk(existsSync(join(daemon.dataDir, 'cache')), 'nobody asks a bucket any more')
})
