import { createHash, type Hash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Readable, Transform, type Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { finished, pipeline } from 'node:stream/promises'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import tar from 'tar-stream'
import { BackupFault } from '../base/faults.ts'

/**
 * How many large messages a backup may have, whose names are held while it is restored (100 MB); and how long a small text of
 * it, or a line of a list, may be. Who has more copies the data directory while mailboxd is stopped.
 */
export const backupFiles = 1_000_000
export const backupTextBytes = 64 * 1024

/** The last file of every archive: what it says of the others is what `sha256sum -c` reads. Without it an archive is not whole. */
const sumsName = 'SHA256SUMS'

/** Writes a tar archive, compressed by zstd, file by file. */
export interface ArchiveWriter {
  addText(name: string, text: string): Promise<void>
  /**
   * Adds a file with the time of its last change, so that rsync passes over it when the archive was unpacked again.
   * @param sizeBytes how long the file is to be; as long as it is now if not given
   * @returns the SHA-256 of its bytes, in hexadecimal
   * @throws if the file is missing, or of another length
   */
  addFile(name: string, path: string, sizeBytes?: number): Promise<string>
  /** Writes the checksums and the end; resolves when all of it was given to the target. */
  finish(): Promise<void>
}

/**
 * @param target is ended by `finish` unless it is the standard output
 * @param signal ends the writing, which fails then
 */
export function writeArchive(target: Writable, madeAt: Date, signal?: AbortSignal): ArchiveWriter {
  const pack = tar.pack()
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } })
  const written = pipeline(pack, compress, target, {
    end: target !== process.stdout,
    ...(signal && { signal }),
  })
  // Whoever adds hears of it by `failed`; nobody may be there to hear it now.
  written.catch(() => {})
  const failed = written.then(() => {
    throw new Error('the archive was ended before its end')
  })
  failed.catch(() => {})
  const sums: string[] = []

  async function add(name: string, size: number, content: Readable, mtime = madeAt): Promise<string> {
    const hash = createHash('sha256')
    const hashed = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        hash.update(chunk)
        done(null, chunk)
      },
    })
    const entry = pack.entry({ name, size, mode: 0o600, mtime })
    await Promise.race([pipeline(content, hashed, entry), failed])
    const sha256 = hash.digest('hex')
    sums.push(sumLine(sha256, name))
    return sha256
  }

  return {
    async addText(name, text) {
      await add(name, Buffer.byteLength(text), Readable.from(pieces(text)))
    },
    async addFile(name, path, sizeBytes) {
      const { size, mtime } = await stat(path)
      const content = createReadStream(path, { highWaterMark: 256 * 1024 })
      // A missing file has to fail before its entry is begun.
      await once(content, 'open')
      return add(name, sizeBytes ?? size, content, mtime)
    },
    async finish() {
      const text = sums.join('')
      const entry = pack.entry({ name: sumsName, size: Buffer.byteLength(text), mode: 0o600, mtime: madeAt })
      await Promise.race([pipeline(Readable.from(pieces(text)), entry), failed])
      pack.finalize()
      await written
    },
  }
}

/** One file of an archive. */
export interface ArchivedFile {
  readonly name: string
  readonly sizeBytes: number
  /** Has to be read to its end, or destroyed, before the next file is asked for. */
  readonly content: Readable
}

/**
 * Reads an archive file by file. After the last one it compares the checksums of all that were read.
 * @throws BackupFault when it is damaged or not whole, has a name twice, or more files than `backupFiles` and a few
 */
export async function* readArchive(source: Readable): AsyncGenerator<ArchivedFile> {
  const extract = tar.extract()
  const fed = pipeline(source, createZstdDecompress(), extract)
  fed.catch(() => {})
  const seen = new Set<string>()
  // Of the lines that the checksums are to be: all of them need not be held for that.
  const expected = createHash('sha256')
  let expectedBytes = 0
  let said: string | undefined
  try {
    for await (const entry of extract) {
      const { name, size = 0, type } = entry.header
      if (type !== 'file') throw new BackupFault(`the archive holds ${name}, which is no file`)
      if (said !== undefined) throw new BackupFault(`the archive holds ${name} behind its ${sumsName}`)
      if (name === sumsName) {
        said = size === expectedBytes ? await digestOf(entry) : 'of another size'
        if (size !== expectedBytes) break
        continue
      }
      if (seen.has(name)) throw new BackupFault(`the archive holds ${name} twice`)
      if (seen.size >= mostFiles) throw new BackupFault(`the archive holds more than ${mostFiles} files`)
      seen.add(name)
      const hash = createHash('sha256')
      const content = Readable.from(hashed(entry, hash), { objectMode: false })
      const read = finished(content)
      read.catch(() => {})
      yield { name, sizeBytes: size, content }
      await read
      const line = Buffer.from(sumLine(hash.digest('hex'), name))
      expected.update(line)
      expectedBytes += line.length
    }
    if (said !== 'of another size') await fed
  } catch (error) {
    throw unreadable(error)
  }
  if (said === undefined) throw new BackupFault(`the archive is not whole: it has no ${sumsName}`)
  if (said !== expected.digest('hex'))
    throw new BackupFault('the archive is damaged: its checksums are not those of its files')
}

/** The raws, and what there is one of. */
const mostFiles = backupFiles + 100

const sumLine = (sha256: string, name: string) => `${sha256}  ${name}\n`

async function digestOf(content: AsyncIterable<unknown>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of content) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

async function* hashed(chunks: AsyncIterable<unknown>, hash: Hash): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of chunks) {
      hash.update(chunk as Buffer)
      yield chunk as Buffer
    }
  } catch (error) {
    throw unreadable(error)
  }
}

function unreadable(error: unknown): BackupFault {
  if (error instanceof BackupFault) return error
  const why = error instanceof Error ? error.message : String(error)
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const what =
    code === 'Z_BUF_ERROR'
      ? 'is cut off, its end is missing: copy it again, or take another backup'
      : /^ZSTD_error_(?:checksum_wrong|corruption_detected)$/.test(code)
        ? `is damaged (${why}): copy it again, or take another backup`
        : `cannot be read: ${why}`
  return new BackupFault(`the archive ${what}`, { cause: error })
}

/** All of a small file of an archive. @throws BackupFault when it is not small */
export async function textOf({ name, sizeBytes, content }: ArchivedFile): Promise<string> {
  if (sizeBytes > backupTextBytes)
    throw new BackupFault(`${name} in the archive is larger than ${backupTextBytes} bytes`)
  return text(content)
}

/** What has no bytes is no chunk either. */
function pieces(text: string): Buffer[] {
  return text.length > 0 ? [Buffer.from(text)] : []
}
