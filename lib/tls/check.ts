import { createCertificateSet } from './certificate-set.ts'
import { CertificateFault, type Finding, type Pair, type PairPaths, readPair } from './pair.ts'

/** Something about one file of one pair. */
export interface PairFinding extends Finding {
  /** Which pair, in the order given. */
  readonly index: number
}

/**
 * All that is wrong with these pairs at the instant `now`: what keeps them from being used, what has expired and is shown all the same,
 * and all that is doubtful.
 * @param issued names that another certificate is there for, or will be
 */
export async function checkPairs(
  pairs: readonly PairPaths[],
  { hostname, issued, now }: { hostname: string; issued: readonly string[]; now: Date },
): Promise<{
  readonly faults: readonly PairFinding[]
  readonly outOfTime: readonly PairFinding[]
  readonly warnings: readonly PairFinding[]
}> {
  const faults: PairFinding[] = []
  const ended: PairFinding[] = []
  const warnings: PairFinding[] = []
  const read: Pair[] = []
  for (const [index, paths] of pairs.entries()) {
    try {
      const { pair, outOfTime, warnings: found } = await readPair(paths, now)
      read.push(pair)
      if (outOfTime) ended.push({ ...outOfTime, index })
      warnings.push(...found.map(one => ({ ...one, index })))
    } catch (error) {
      if (!(error instanceof CertificateFault)) throw error
      faults.push({ index, file: error.file, message: error.message })
    }
  }
  const [first, ...others] = read
  if (first && faults.length === 0 && !issued.includes(hostname)) {
    if (!createCertificateSet([first, ...others]).contextFor(hostname)) {
      const names = first.names.slice(0, 5).join(', ') || 'no name'
      const message = `${pairs[0]!.certificate} is for ${names}, and no certificate is for the hostname ${hostname}: peers that verify will refuse it`
      warnings.push({ index: 0, file: 'certificate', message })
    }
  }
  return { faults, outOfTime: ended, warnings }
}
