import { createHash, hash } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { sliceBytes } from '../../base/concurrency.ts'
import { BytesElsewhere, DiskFailed, StorageUnreachable } from '../../base/faults.ts'
import { inSlices } from '../../base/files.ts'
import { Problem } from '../../base/problem.ts'
import type { BlobFile } from '../../blob/blobs.ts'
import type { Content } from '../../blob/content.ts'
import { describeLeftStrays, noteLeftStrays } from '../../blob/disk.ts'
import { createIntake, type Intake } from '../../blob/intake.ts'
import { listNodes } from '../../store/nodes.ts'
import { findRaw, hasMessages, isFileUsed } from '../../store/raws.ts'
import type { MessageRow, RawRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { getMessageRow } from '../app/reach.ts'
import { traceContent } from './traced.ts'

/** How long a file without a row is kept in `stray/`. */
export const strayKeptMs = 30 * 86_400_000
/** More files without a row than this, and than this share of all, are left where they are: the database may be the wrong one. */
export const fewStrays = 10
const strayShare = 0.01
/** Files without a row that one sweep moves; the next one moves more. */
const straysAtOnce = 10_000
/** Files that are looked at at the start for whether a row has them, until others have the event loop. */
const filesAtOnce = 50
/** Raw up to this size is a row of the database, in the same commit; above it, a file. */
export const blobInDatabaseBytes = 256 * 1024

/** What the row of a raw, or of an attachment of a draft, says of its bytes. */
type Kept = Pick<RawRow, 'sizeBytes' | 'sha256' | 'content'>

/**
 * Makes the bytes of a new raw durable. Small ones are returned as the content of the row; large ones are written to the
 * file of this id, and the content of the row is null.
 * @param pieces the bytes, one after the other
 */
export async function keepBytes(app: App, rawId: string, pieces: readonly Buffer[]): Promise<Kept> {
  const sizeBytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (sizeBytes <= blobInDatabaseBytes) {
    const content = Buffer.concat(pieces)
    return { sizeBytes, sha256: hash('sha256', content), content }
  }
  const spooled = app.blobs.spoolPath(rawId)
  const sum = createHash('sha256')
  // Each slice is written before the next is hashed, so that the event loop comes round between them.
  async function* hashed(): AsyncGenerator<Buffer> {
    for (const piece of pieces) {
      for await (const slice of inSlices(piece, sliceBytes)) {
        sum.update(slice as Buffer)
        yield slice as Buffer
      }
    }
  }
  try {
    await writeFile(spooled, hashed(), { mode: 0o600, flag: 'wx' })
    const sha256 = sum.digest('hex')
    await app.blobs.keep({ id: rawId, sizeBytes, sha256 }, spooled)
    return { sizeBytes, sha256, content: null }
  } catch (error) {
    await rm(spooled, { force: true })
    throw error
  }
}

/**
 * Removes the files of a write that failed with `error`. After a failed fsync, and where a server gave no answer, nobody knows whether
 * the rows are there; then they stay, and are looked for later: files at the next start, objects by a sweep.
 */
export async function dropFilesOf(app: App, error: unknown, ids: readonly string[]): Promise<void> {
  if (error instanceof DiskFailed || error instanceof StorageUnreachable) return
  for (const id of ids) await app.blobs.remove(id)
}

/**
 * Moves the files and objects that no row points to into `stray/`. A kill leaves such a file between its move and its commit, or
 * between a purge and the removal of its files. If there are many, or the database has no messages, the database is more likely
 * to be the wrong one: then none is moved.
 * @param pages ids of earlier processes or days, whose rows are final
 * @param where whether the ids are those of files or of objects of the bucket
 */
export async function setAsideStrays(
  app: App,
  pages: AsyncIterable<readonly string[]> | Iterable<readonly string[]>,
  where: 'files' | 'objects',
  isStopping: () => boolean,
): Promise<void> {
  const { data_dir: dataDir } = app.config
  const strays: string[] = []
  let [files, count] = [0, 0]
  for await (const ids of pages) {
    for (const [index, id] of ids.entries()) {
      // To look for a row waits for nothing, and most files have one.
      if (index % filesAtOnce === 0) await setImmediate()
      if (isStopping()) return
      files++
      if (await isFileUsed(app.store.read, id)) continue
      count++
      if (strays.length < straysAtOnce) strays.push(id)
    }
  }
  const isMany = count > fewStrays && count > files * strayShare
  if (isMany || (count > 0 && !(await hasMessages(app.store.read)))) {
    const left = { at: app.clock.now().toISOString(), strays: count, files }
    app.log.error({ strays: count, files, examples: strays.slice(0, 5) }, describeLeftStrays(where, left))
    await noteLeftStrays(dataDir, where, left)
    return
  }
  await noteLeftStrays(dataDir, where, undefined)
  let moved = 0
  for (const id of strays) {
    if (isStopping()) break
    await app.blobs.setAside(id)
    moved++
  }
  if (moved > 0)
    app.log.warn({ files: moved }, 'moved files without a row to stray/, where they are kept for 30 days')
}

/** Moves back what is in `stray/` and has a row again, and deletes what has been there for `strayKeptMs`. Returns 0: it looks at all. */
export async function tendStrays(app: App, isStopping: () => boolean): Promise<number> {
  let [back, removed] = [0, 0]
  for await (const strays of app.blobs.listStrays()) {
    for (const { id, ageMs } of strays) {
      if (isStopping()) return 0
      if (await isFileUsed(app.store.read, id)) {
        await app.blobs.takeBack(id)
        back++
      } else if (ageMs > strayKeptMs) {
        await app.blobs.removeStray(id)
        removed++
      }
    }
  }
  if (back > 0) app.log.warn({ files: back }, 'moved files from stray/ back to raw/: they have rows again')
  if (removed > 0) app.log.info({ files: removed }, 'deleted files that had been in stray/ for 30 days')
  return 0
}

/** Takes the bytes of a message that is coming in: in memory while it is small, in a spool file when it is large. */
export function openIntake(app: Pick<App, 'blobs' | 'ids'>): Intake {
  return createIntake(() => app.blobs.spoolPath(app.ids.next()), blobInDatabaseBytes)
}

/**
 * The bytes of the file that a row points to.
 * @returns undefined when they are gone @throws BytesElsewhere where another node may have them; BlobsFault
 */
export async function findFile(app: App, file: BlobFile): Promise<Content | undefined> {
  const content = await app.blobs.find(file)
  if (content || app.store.dialect === 'sqlite') return content
  // Whoever took its row away took them away, too: an attachment of a draft that another node has changed.
  if (!(await isFileUsed(app.store.read, file.id))) return undefined
  const nodes = await listNodes(app.store.read)
  // One that has stopped may come back with them: it had them on its disk before there was a bucket.
  if (nodes.some(({ id }) => id !== app.nodes.id)) throw new BytesElsewhere()
  return undefined
}

/** The bytes of a raw row, wherever they are kept. @throws as `findFile` */
export async function contentOfRaw(
  app: App,
  { content, ...file }: Pick<RawRow, 'id' | 'sizeBytes' | 'sha256' | 'content'>,
): Promise<Content | undefined> {
  return content === null ? findFile(app, file) : { kind: 'memory', bytes: content }
}

export async function rawOf(app: App, row: MessageRow): Promise<Content> {
  const raw = row.rawId === null ? undefined : await findRaw(app.store.read, row.rawId)
  const content = raw && (await contentOfRaw(app, raw))
  if (!content) throw new Problem('not_found', 'The original bytes of this message were not kept.')
  return content
}

/**
 * The original message, without results of authentication that came from outside in our name: a reader would believe them. With
 * its trace, below our own results.
 * @throws Problem `not_found`
 */
export async function openRaw(
  app: App,
  caller: Caller,
  id: string,
  { withTrace }: { readonly withTrace: boolean },
): Promise<{ sizeBytes: number; content: Readable }> {
  const message = await getMessageRow(app.store.read, caller, id)
  const original = await rawOf(app, message)
  const traced = await traceContent(withTrace ? message.trace : '', original, app.config.hostname)
  return { sizeBytes: traced.sizeBytes, content: traced.open() }
}
