import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { createZstdCompress, zstdDecompressSync } from 'node:zlib'
import t from 'tap'
import tar from 'tar-stream'
import { BackupFault } from '../../lib/base/faults.ts'
import { backupTextBytes, readArchive, textOf, writeArchive } from '../../lib/blob/archive.ts'
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
    // tar needs the program zstd to decompress; not every machine has it.
    const command = 'tar -xf - && sha256sum -c SHA256SUMS'
    t.match(await runProgram('sh', ['-c', command], zstdDecompressSync(bytes), { cwd: dir }), {
      code: 0,
      stdout: /folder\/large: OK/,
    })

    const isCut = /^the archive is cut off, its end is missing: copy it again, or take another backup$/
    for (const left of [bytes.length - 50, 20, 0])
      await t.rejects(read(bytes.subarray(0, left)), { name: 'BackupFault', message: isCut }, `${left} bytes`)
    const isDamaged = /^the archive is damaged \(.+\): copy it again, or take another backup$/
    const bent = Buffer.from(bytes)
    bent[bytes.length - 20]! ^= 0x10
    await t.rejects(read(bent), { name: 'BackupFault', message: isDamaged })
    await t.rejects(read(Buffer.from('no archive')), { message: /^the archive cannot be read: / })
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

t.test('a name stands once, and nothing behind the checksums', async t => {
  const made = async (...names: string[]) => {
    const pack = tar.pack()
    const bytes = buffer(pack.pipe(createZstdCompress()))
    let sums = ''
    for (const name of names) {
      const text = name === 'SHA256SUMS' ? sums : name
      pack.entry({ name }, text)
      sums += `${createHash('sha256').update(text).digest('hex')}  ${name}\n`
    }
    pack.finalize()
    return bytes
  }
  t.strictSame(await read(await made('a', 'b', 'SHA256SUMS')), { a: 'a', b: 'b' })
  await t.rejects(read(await made('a', 'b', 'a', 'SHA256SUMS')), new BackupFault('the archive holds a twice'))
  await t.rejects(
    read(await made('a', 'SHA256SUMS', 'b')),
    new BackupFault('the archive holds b behind its SHA256SUMS'),
  )
  await t.rejects(read(await made('a', 'SHA256SUMS', 'SHA256SUMS')), BackupFault)
  await t.rejects(
    read(await made('a\n\x1b[1mAll is well', 'a\n\x1b[1mAll is well', 'SHA256SUMS')),
    { message: 'the archive holds a\\n\\x1b[1mAll is well twice' },
    'a name stays on the line of its sentence',
  )
})

t.test('a small text of an archive is small', async t => {
  const tooLarge = { name: 'a', sizeBytes: backupTextBytes + 1, content: Readable.from([]) }
  await t.rejects(textOf(tooLarge), BackupFault)
})

t.test('a file that is shorter than it was said to be fails the archive', async t => {
  const dir = temporaryDir(t)
  const short = join(dir, 'short')
  writeFileSync(short, 'abc')
  const archive = writeArchive(createWriteStream(join(dir, 'archive')), new Date(0))
  await t.rejects(archive.addFile('short', short, 10))
})
