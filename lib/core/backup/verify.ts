import { hash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createSecretBox } from '../../base/secrets.ts'
import { type Clock, isoAfter } from '../../base/time.ts'
import { isBlobId } from '../../blob/blob-id.ts'
import type { Blobs } from '../../blob/blobs.ts'
import { sumFile } from '../../blob/content.ts'
import { foldersOfRaws } from '../../blob/disk.ts'
import { findAccount } from '../../store/account.ts'
import { type Db, isServer } from '../../store/dialect/dialect.ts'
import { findDamage } from '../../store/dialect/integrity.ts'
import { findBroken, invariants } from '../../store/invariants.ts'
import { isFileKept, type KeptFile, listKeptBytes, listKeptFiles } from '../../store/kept-files.ts'
import { findStrangeSchema } from '../../store/migrations/expected-schema.ts'
import { requireCurrentSchema } from '../../store/migrations/migrate.ts'
import { openReader } from '../../store/open.ts'
import { hasMessages } from '../../store/raws.ts'
import { findSecretKey } from '../../store/secrets.ts'
import { sweepRows } from '../../store/sweeps.ts'
import { readNextKey, readSecretKey, SecretKeyFault, secretKeyPath } from '../app/secret-key.ts'
import { names, rawName, rawOfName } from './contents.ts'

/** What a check of all that was promised tells of each promise, and when it looks again for files that came or went meanwhile. */
const verifyFindings = 100
const verifyLookMs = 1_000
/** How many raws, of at most 256 KiB each, `mailboxctl verify` reads from the database in one statement. */
const verifyRaws = 32

/** Something that contradicts what was promised. */
export interface Finding {
  /** What was looked at: an invariant, `integrity` of the database, `secrets` or `files`. */
  readonly check: string
  readonly promise: string
  /** The id of what breaks it. */
  readonly subject: string
  readonly found: string
}

/** Opens where the large raws of the installation are. */
export type OpenBlobs = () => Promise<Blobs>

interface VerifyParts {
  readonly dataDir: string
  /** Where the rows are, as of `openReader`, if not in there; what only a file can have wrong is not asked of a server. */
  readonly location?: string
  readonly clock: Clock
  /** Where large raws are, of the installation with this database. */
  readonly openBlobs: OpenBlobs
  /** How long events are kept. */
  readonly eventsKeptMs: number
  readonly told?: (step: string, done: number, of: number) => void
}

/**
 * Everything in a data directory that contradicts itself or what was promised; nothing when all is right. It only reads, and
 * sees the rows of one check as they are at one moment, so a daemon may run meanwhile. Of each check at most
 * `verifyFindings` are told.
 * @throws SchemaFault where the database is not of this version
 */
export async function verify(parts: VerifyParts): Promise<Finding[]> {
  const { dataDir, location = join(dataDir, names.database), clock, told = () => {} } = parts
  const checks = invariants.length + 3
  const { damage, strange } = isServer(location) ? { damage: [], strange: [] } : lookAtFile(location)
  // What is broken can't be asked.
  if (strange === undefined) return damage
  told('verify', 1, checks)
  const { read, close } = await openReader(location)
  try {
    await requireCurrentSchema(read)
    if (!(await findAccount(read)) && !(await hasMessages(read))) {
      const promise = 'an installation has its account'
      const found =
        'none yet: the first start of mailboxd ended before it made one. Start mailboxd, which makes it'
      return [...damage, ...strange, { check: 'account', promise, subject: 'account', found }]
    }
    // An hour is for the sweep, which may be late.
    const since = isoAfter(clock.now(), -(parts.eventsKeptMs - 3_600_000))
    const findings: Finding[] = [...damage, ...strange, ...(await findKeyFaults(dataDir, read))]
    for (const [index, invariant] of invariants.entries()) {
      const { name: check, promise } = invariant
      const rows = await findBroken(read, invariant, since, verifyFindings)
      findings.push(...rows.map(one => ({ check, promise, ...one })))
      told('verify', index + 2, checks)
    }
    const blobs = await parts.openBlobs()
    try {
      findings.push(...(await findFileFaults(dataDir, read, blobs)))
      told('verify', checks - 1, checks)
      return [...findings, ...(await findChangedBytes(dataDir, read))]
    } finally {
      await blobs.close()
    }
  } finally {
    await close()
  }
}

/** What is wrong with the SQLite file itself; its schema is not looked at where the file is broken. */
function lookAtFile(path: string): { readonly damage: Finding[]; readonly strange: Finding[] | undefined } {
  const { broken, orphans } = findDamage(path)
  const damage = [...broken, ...orphans].map(found => ({
    check: 'integrity',
    promise: 'the database is whole',
    subject: names.database,
    found,
  }))
  if (broken.length > 0) return { damage, strange: undefined }
  const strange = findStrangeSchema(path).found.map(found => ({
    check: 'schema',
    promise: 'the schema is what the migrations make',
    subject: names.database,
    found,
  }))
  return { damage, strange }
}

/** What the secrets in the rows can not be opened by: without their key no daemon starts. */
async function findKeyFaults(dataDir: string, read: Db): Promise<Finding[]> {
  const known = await findSecretKey(read)
  const found = known && (await keyFaultOf(dataDir, known.id))
  if (found === undefined) return []
  // They may have been put under another key between the two looks.
  if ((await findSecretKey(read))?.id !== known!.id) return findKeyFaults(dataDir, read)
  const promise = 'the key that the secrets in the database are sealed under is there'
  return [{ check: 'secrets', promise, subject: secretKeyPath(dataDir), found }]
}

async function keyFaultOf(dataDir: string, keyId: string): Promise<string | undefined> {
  try {
    // The next one takes the place of the other: looked at in this order, neither is missed while it does.
    const keys = [await readNextKey(dataDir), await readSecretKey(dataDir)].reverse()
    const ids = keys.flatMap(key => (key === undefined ? [] : [createSecretBox(key).keyId]))
    if (ids.includes(keyId)) return undefined
    const what = ids.length === 0 ? 'is missing' : `is another key: ${ids[0]} in place of ${keyId}`
    return `${what}: restore it from the backup of the data directory, or copy it from another node`
  } catch (error) {
    if (!(error instanceof SecretKeyFault)) throw error
    return `can not be used: ${error.message}`
  }
}

/** Rows without their file, and files without a row. */
async function findFileFaults(dataDir: string, read: Db, blobs: Blobs): Promise<Finding[]> {
  const stray = await findStrayFiles(dataDir, read)
  const missing = await findMissingFiles(blobs, read)
  return [
    ...missing.map(({ id, found }) => ({
      check: 'files',
      promise: 'every row that points to a file has it, in its whole length',
      subject: id,
      found,
    })),
    ...stray.map(subject => ({
      check: 'files',
      promise: 'every file has a row',
      subject,
      found: 'has no row',
    })),
  ].slice(0, verifyFindings)
}

/** The files that rows point to and that are not there, or not as long as their rows say; what is deleted meanwhile is not among them. */
export async function findMissingFiles(
  blobs: Blobs,
  read: Db,
): Promise<{ readonly id: string; readonly found: string }[]> {
  const missing: { id: string; found: string }[] = []
  let strays: ReadonlySet<string> | undefined
  let page: KeptFile[]
  let after = ''
  do {
    page = await listKeptFiles(read, after, sweepRows)
    for (const { id, sizeBytes } of page) {
      // What can be the id of no file is told as that.
      if (!isBlobId(id)) continue
      const size = await blobs.sizeOf(id)
      if (size === sizeBytes || !(await isFileKept(read, id))) continue
      let found = size === undefined ? 'has no file' : `has ${size} bytes in place of ${sizeBytes}`
      if (size === undefined) {
        strays ??= await idsOfStrays(blobs)
        if (strays.has(id)) found += `, but stray/${id} is its file: restart mailboxd, which moves it back`
      }
      missing.push({ id, found })
    }
    after = page.at(-1)?.id ?? after
  } while (page.length > 0)
  return missing
}

/**
 * Bytes that are not those of the SHA-256 in their row, in the database and in the files of the data directory. The objects
 * in a bucket are not read: a bucket compares what it keeps itself.
 */
async function findChangedBytes(dataDir: string, read: Db): Promise<Finding[]> {
  const promise = 'the bytes of each message are those that came'
  const findings: Finding[] = []
  let page: Awaited<ReturnType<typeof listKeptBytes>>
  let after = ''
  do {
    page = await listKeptBytes(read, after, verifyRaws)
    for (const { content, ...file } of page) {
      const found = content ? changeOf(content, file) : await changeOfFile(dataDir, file)
      if (found === undefined || (!content && !(await isFileKept(read, file.id)))) continue
      findings.push({ check: 'bytes', promise, subject: file.id, found })
    }
    after = page.at(-1)?.id ?? after
  } while (page.length > 0 && findings.length < verifyFindings)
  return findings.slice(0, verifyFindings)
}

const isChanged = 'its bytes changed since it was stored: restore it from a backup'

function changeOf(content: Buffer, { sizeBytes, sha256 }: KeptFile): string | undefined {
  // Another length breaks an invariant.
  return content.length === sizeBytes && hash('sha256', content) !== sha256 ? isChanged : undefined
}

async function changeOfFile(
  dataDir: string,
  { id, sizeBytes, sha256 }: KeptFile,
): Promise<string | undefined> {
  if (!isBlobId(id)) return undefined
  try {
    const found = await sumFile(join(dataDir, rawName(id)))
    // Another length was found before (`findMissingFiles`).
    return found.sizeBytes === sizeBytes && found.sha256 !== sha256 ? isChanged : undefined
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? undefined : `cannot be read (${message}): restore it from a backup`
  }
}

async function idsOfStrays(blobs: Blobs): Promise<Set<string>> {
  const ids = new Set<string>()
  for await (const page of blobs.listStrays()) for (const { id } of page) ids.add(id)
  return ids
}

/** Files below raw that no row points to. One comes before its row and goes after it, so a daemon may have some under way: who is still there later is stray. */
async function findStrayFiles(dataDir: string, read: Db): Promise<string[]> {
  let suspects = await filesBelow(dataDir)
  for (let look = 0; ; look++) {
    const stray: string[] = []
    for (const name of suspects) {
      const id = rawOfName(name)
      const isOurs = id !== undefined && (await isFileKept(read, id))
      if (!isOurs && (await stat(join(dataDir, name)).catch(() => undefined))) stray.push(name)
    }
    if (stray.length === 0 || look === looks) return stray
    suspects = stray
    await pause(verifyLookMs)
  }
}

const looks = 3

async function filesBelow(dataDir: string): Promise<string[]> {
  const root = join(dataDir, 'raw')
  const folders = await foldersOfRaws(dataDir)
  const names = await Promise.all(
    folders.map(async folder => (await readdir(join(root, folder))).map(name => `raw/${folder}/${name}`)),
  )
  return names.flat()
}
