import { stat } from 'node:fs/promises'
import type { Log } from '../base/log.ts'
import type { Clock } from '../base/time.ts'
import { type CertificateSet, createCertificateSet } from './certificate-set.ts'
import { CertificateFault, type Finding, findOutOfTime, type Pair, type PairPaths, readPair } from './pair.ts'
import { readSelfSigned, selfSignedPath, writeSelfSigned } from './self-signed.ts'

/** The time between two checks of the files of a certificate. */
const certificatePollMs = 60_000

export interface CertificatesParts {
  /** Those of the operator, the fallback first. */
  readonly pairs: readonly PairPaths[]
  /** Where certificates from a CA come to stand while the server runs; it may still be empty. */
  readonly issued: PairPaths | undefined
  /** An existing directory, that a self-signed certificate is kept in. */
  readonly dataDir: string
  readonly hostname: string
  readonly clock: Clock
  readonly log: Log
}

/** The certificates in force, as the files are. */
export interface Certificates {
  readonly current: CertificateSet
  /** Reads all files again; what is wrong with a pair is logged, and its old one stays. */
  reload(): Promise<void>
  /** Reads the files that are others than before. */
  look(): Promise<void>
  /** Calls `listener` with the new set after every change. */
  onChange(listener: (set: CertificateSet) => void): void
  stop(): Promise<void>
}

/** A pair that was read, how its files looked before that, and whether it was in its time when it was looked at last. */
interface Loaded {
  readonly paths: PairPaths
  pair: Pair | undefined
  seen: string
  isInTime: boolean
}

/**
 * Opens the pairs of the operator and what a CA has issued; without any, a self-signed one, made once and kept in
 * `dataDir`. One that has expired is shown while there is no better: mail comes by it, and its owner is told. From then on the files are
 * looked at every minute and read again when they are others: a look by name follows symbolic links, which is how certbot exchanges them,
 * and misses nothing that an event may. What expires meanwhile, its files as they were, goes behind the others then.
 * @throws CertificateFault when a pair of the operator can't be used
 */
export async function openCertificates(parts: CertificatesParts): Promise<Certificates> {
  const { pairs, issued, clock, log } = parts
  const listeners: ((set: CertificateSet) => void)[] = []
  const loaded: Loaded[] = pairs.map(paths => ({ paths, pair: undefined, seen: '', isInTime: false }))
  if (issued) loaded.push({ paths: issued, pair: undefined, seen: '', isInTime: false })
  for (const one of loaded) {
    if (one.paths === issued) await refresh(one)
    else await read(one)
  }
  let current = await build()
  let working = Promise.resolve()

  async function read(one: Loaded): Promise<void> {
    // Before the reading: files that change meanwhile look different at the next look.
    one.seen = await looksOf(one.paths)
    const { pair, outOfTime, warnings } = await readPair(one.paths, clock.now())
    if (outOfTime) {
      // Better is what was shown before, while that holds.
      if (one.pair && isInTime(one.pair, clock.now())) throw new CertificateFault(outOfTime)
      log.error(shownUntilThen(outOfTime))
    }
    one.pair = pair
    one.isInTime = outOfTime === undefined
    for (const { message } of warnings) log.warn(message)
  }

  /** Reads a pair whose old one stays when it can't be used. */
  async function refresh(one: Loaded): Promise<boolean> {
    try {
      await read(one)
      return true
    } catch (error) {
      if (!(error instanceof CertificateFault)) throw error
      // Nothing was issued yet.
      const isAwaited = one.paths === issued && one.seen.includes('none')
      if (!isAwaited) log.error({ err: error }, 'the TLS certificate can not be used; the old one stays')
      return false
    }
  }

  /** Whether its time began or ended since the last look, with the files as they were. */
  function hasTurned(one: Loaded): boolean {
    const outOfTime = one.pair && findOutOfTime(one.paths, one.pair, clock.now())
    const isOther = one.pair !== undefined && one.isInTime !== (outOfTime === undefined)
    if (!isOther) return false
    one.isInTime = outOfTime === undefined
    if (outOfTime) log.error(shownUntilThen(outOfTime))
    return true
  }

  async function build(): Promise<CertificateSet> {
    const now = clock.now()
    const pairs = loaded.flatMap(({ pair }) => pair ?? [])
    // Of several for one name the first is shown: none that has expired while there is another.
    const [first, ...others] = [
      ...pairs.filter(pair => isInTime(pair, now)),
      ...pairs.filter(pair => !isInTime(pair, now)),
    ]
    return createCertificateSet(first ? [first, ...others] : [await selfSigned(parts)])
  }

  async function look(isAll: boolean): Promise<void> {
    let isRead = false
    let isTurned = false
    for (const one of loaded) {
      const isOther = isAll || (await looksOf(one.paths)) !== one.seen
      if (isOther && (await refresh(one))) isRead = true
      if (hasTurned(one)) isTurned = true
    }
    if (!isRead && !isTurned) return
    current = await build()
    if (isRead) log.info('TLS certificate read again')
    for (const listener of listeners) listener(current)
  }

  /** One look after the other. */
  function enqueue(isAll: boolean): Promise<void> {
    working = working
      .then(() => look(isAll))
      .catch(error => log.error({ err: error }, 'the TLS certificates can not be looked at'))
    return working
  }

  const timer = setInterval(() => enqueue(false), certificatePollMs).unref()
  return {
    get current() {
      return current
    },
    reload: () => enqueue(true),
    look: () => enqueue(false),
    onChange: listener => void listeners.push(listener),
    stop() {
      clearInterval(timer)
      return working
    },
  }
}

const shownUntilThen = ({ message }: Finding) =>
  `${message}. It is shown while there is no better; new files are read within a minute`

function isInTime({ notBefore, notAfter }: Pair, now: Date): boolean {
  return notBefore <= now && now < notAfter
}

async function selfSigned({ dataDir, hostname, clock }: CertificatesParts): Promise<Pair> {
  const path = selfSignedPath(dataDir)
  return (await readSelfSigned(path, hostname, clock)) ?? (await writeSelfSigned(path, hostname, clock))
}

/** What tells the files from others that stand in their place later. */
async function looksOf({ certificate, key }: PairPaths): Promise<string> {
  const looks = await Promise.all(
    [certificate, key].map(async path => {
      try {
        const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path)
        return [dev, ino, size, mtimeMs, ctimeMs].join(' ')
      } catch {
        // Whatever keeps it from being looked at keeps it from being read, which says why.
        return 'none'
      }
    }),
  )
  return looks.join(', ')
}
