import type { Readable } from 'node:stream'
import { type Entry, fromBuffer, type ZipFile } from 'yauzl'

/** A ZIP archive of a stranger, of which some files are read. */
export interface Archive {
  /** The names of its files, in its order. */
  readonly names: readonly string[]
  /**
   * Gives the bytes of a file as they are inflated, until `take` gives false; nothing of one that is not there.
   * @throws when it can't be read, or when more bytes of the archive were inflated than may be
   */
  read(name: string, take: (chunk: Buffer) => boolean): Promise<void>
}

/**
 * @param bounds how many files it may name, and how many bytes are inflated of all that are read, whatever it says itself
 * @throws when it is no archive, or names too many files
 */
export async function openArchive(
  bytes: Buffer,
  bounds: { readonly entries: number; readonly inflatedBytes: number },
): Promise<Archive> {
  const zip = await open(bytes)
  const entries = await listEntries(zip, bounds.entries)
  let left = bounds.inflatedBytes
  return {
    names: [...entries.keys()],
    async read(name, take) {
      const entry = entries.get(name)
      if (!entry) return
      for await (const chunk of (await openEntry(zip, entry)) as AsyncIterable<Buffer>) {
        left -= chunk.length
        if (left < 0) throw new Error('the archive holds more than is read')
        // To leave the loop ends the stream.
        if (!take(chunk)) break
      }
    },
  }
}

function open(bytes: Buffer): Promise<ZipFile> {
  return new Promise((resolve, reject) => {
    fromBuffer(bytes, { lazyEntries: true }, (error, zip) => (error ? reject(error) : resolve(zip)))
  })
}

/** Of several with one name the first. */
function listEntries(zip: ZipFile, most: number): Promise<Map<string, Entry>> {
  return new Promise((resolve, reject) => {
    const entries = new Map<string, Entry>()
    let count = 0
    zip.on('error', reject)
    zip.on('end', () => resolve(entries))
    zip.on('entry', (entry: Entry) => {
      if (++count > most) return reject(new Error('the archive names too many files'))
      if (!entries.has(entry.fileName)) entries.set(entry.fileName, entry)
      zip.readEntry()
    })
    zip.readEntry()
  })
}

function openEntry(zip: ZipFile, entry: Entry): Promise<Readable> {
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream)))
  })
}
