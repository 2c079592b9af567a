import { existsSync } from 'node:fs'
import { CertificateFault, type PairPaths, readPair } from './pair.ts'
import { selfSignedPath } from './self-signed.ts'

/** A certificate as the operator sees it. */
export interface ListedCertificate {
  readonly source: 'file' | 'acme' | 'self-signed'
  /** With commas between. */
  readonly names: string | null
  readonly notAfter: string | null
  /** Its file. */
  readonly certificate: string
  /** What is wrong with it, or doubtful. */
  readonly problem: string | null
}

interface Places {
  readonly pairs: readonly PairPaths[]
  readonly issued: PairPaths | undefined
  /** Why nothing was issued so far, and what comes next. */
  readonly whyNotIssued: string
  readonly dataDir: string
}

/** The certificates as their files are at the instant `now`; the self-signed one where there is no other. */
export async function listCertificates(
  { pairs, issued, whyNotIssued, dataDir }: Places,
  now: Date,
): Promise<ListedCertificate[]> {
  const rows = await Promise.all([
    ...pairs.map(paths => describe('file', paths, now)),
    ...(issued ? [describe('acme', issued, now, whyNotIssued)] : []),
  ])
  if (rows.some(row => row.names !== null)) return rows
  const path = selfSignedPath(dataDir)
  return [...rows, await describe('self-signed', { certificate: path, key: path }, now, notMade)]
}

const notMade = 'not made yet: mailboxd makes it when it starts'

/** @param whyNone what is told where its file is not there, since we make it; undefined: that is a fault like any other */
async function describe(
  source: ListedCertificate['source'],
  paths: PairPaths,
  now: Date,
  whyNone?: string,
): Promise<ListedCertificate> {
  const { certificate } = paths
  try {
    const { pair, outOfTime, warnings } = await readPair(paths, now)
    const problem =
      [...(outOfTime ? [outOfTime] : []), ...warnings].map(({ message }) => message).join('; ') || null
    return {
      source,
      names: pair.names.join(', '),
      notAfter: pair.notAfter.toISOString(),
      certificate,
      problem,
    }
  } catch (error) {
    if (!(error instanceof CertificateFault)) throw error
    const isAwaited = whyNone !== undefined && !existsSync(certificate)
    const problem = isAwaited ? whyNone : error.message
    return { source, names: null, notAfter: null, certificate, problem }
  }
}
