import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { replaceFile } from '../../base/files.ts'
import { CertificateFault, checkPair, type Pair, type PairPaths } from '../pair.ts'
import { accountKeyPath } from './account-key.ts'
import { standingPath } from './standing.ts'

/** The kinds of files of an order: the key that the CA knows us by, the certificate with its key, how the last orders went. */
export type SharedKind = 'account' | 'certificate' | 'standing'

/** What several nodes have in common that order the same certificate; each has it in files of its own as well. */
export interface SharedOrders {
  /** Has this node make the order, which one at a time does; gives what gives it back, or undefined where another makes it. */
  take(): Promise<(() => Promise<void>) | undefined>
  read(kind: SharedKind): Promise<string | undefined>
  write(kind: SharedKind, text: string): Promise<void>
  /** From now on each node answers `token` with `keyAuthorization`. */
  publish(token: string, keyAuthorization: string): Promise<void>
  findAnswer(token: string): Promise<string | undefined>
  /** Calls `listener` when something of it is another; gives the function that ends it. */
  onChange(listener: () => void): () => void
}

/** Makes the file of this node that which the nodes share, or gives them that of this one where they have none. */
export async function takeOver(shared: SharedOrders, dataDir: string, kind: 'account' | 'standing') {
  const path = kind === 'account' ? accountKeyPath(dataDir) : standingPath(dataDir)
  const text = await shared.read(kind)
  const own = await readIfThere(path)
  if (text === own) return
  if (text === undefined) return shared.write(kind, own!)
  await mkdir(join(dataDir, 'acme'), { recursive: true, mode: 0o700 })
  await replaceFile(path, text)
}

/**
 * Of the certificate of this node and the one that the nodes share the later one is that of both from now on; gives whether this node has another.
 * @param own that of this node, where it can be used
 */
export async function exchangeCertificate(
  shared: SharedOrders,
  paths: PairPaths,
  own: Pair | undefined,
  now: Date,
): Promise<boolean> {
  const text = await shared.read('certificate')
  const theirs = text === undefined ? undefined : usable(paths, text, now)
  if (theirs && isLater(theirs, own)) {
    await mkdir(dirname(paths.certificate), { recursive: true, mode: 0o700 })
    await replaceFile(paths.certificate, text!)
    return true
  }
  if (own && isLater(own, theirs)) await shared.write('certificate', own.key)
  return false
}

/** What was shared is checked like a file of anybody's. */
function usable(paths: PairPaths, text: string, now: Date): Pair | undefined {
  try {
    const { pair, outOfTime } = checkPair(paths, { key: text, cert: text }, now)
    return outOfTime ? undefined : pair
  } catch (error) {
    if (error instanceof CertificateFault) return undefined
    throw error
  }
}

const isLater = (one: Pair, other: Pair | undefined) => !other || one.notBefore > other.notBefore

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
