import { once } from 'node:events'
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { BackupFault } from '../../lib/base/backup-fault.ts'
import { readArchive, writeArchive } from '../../lib/blob/archive.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

async function read(bytes: Buffer): Promise<Record<string, string>> {
  const files: Record<string, string> = {}
  for await (const { name, content } of readArchive(Readable.from([bytes]))) files[name] = await text(content)
  return files
}

t.test(
  'what was written is read, by us and by tar and sha256sum; each byte that is another is noticed',
  async t => {
    const dir = temporaryDir(t)
    const path = join(dir, 'archive.tar.zst')
    const large = join(dir, 'large')
    writeFileSync(large, 'x'.repeat(300_000))
    const target = createWriteStream(path)
    const archive = writeArchive(target, new Date(0))
    await archive.addText('empty.txt', '')
    await archive.addText('one.txt', 'one\n')
    await t.rejects(archive.addFile('gone', join(dir, 'gone'), 1), { code: 'ENOENT' })
    await archive.addFile('folder/large', large, 300_000)
    const closed = once(target, 'close')
    await archive.finish()
    await closed

    const bytes = readFileSync(path)
    t.strictSame(await read(bytes), {
      'empty.txt': '',
      'one.txt': 'one\n',
      'folder/large': 'x'.repeat(300_000),
    })
    const command = `cd ${dir} && tar --zstd -xf archive.tar.zst && sha256sum -c SHA256SUMS`
    t.match(await runProgram('sh', ['-c', command]), { code: 0, stdout: /folder\/large: OK/ })

    await t.rejects(read(bytes.subarray(0, bytes.length - 50)), BackupFault, 'cut off')
    for (let at = 0; at < bytes.length; at += 7) {
      const bent = Buffer.from(bytes)
      bent[at]! ^= 0x10
      const files = await read(bent).catch((error: unknown) => error)
      // A byte that means nothing may be another: then all is read as it was written.
      const isNoticed = files instanceof BackupFault
      if (!isNoticed) t.strictSame(files, await read(bytes), `the byte ${at} was ${bent[at]}`)
    }
  },
)

t.test('a file that is shorter than it was said to be fails the archive', async t => {
  const dir = temporaryDir(t)
  const short = join(dir, 'short')
  writeFileSync(short, 'abc')
  const archive = writeArchive(createWriteStream(join(dir, 'archive')), new Date(0))
  await t.rejects(archive.addFile('short', short, 10))
})
