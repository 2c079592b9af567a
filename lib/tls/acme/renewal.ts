import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { replaceFile } from '../../base/files.ts'
import type { Log } from '../../base/log.ts'
import { oneLine } from '../../base/text.ts'
import { type Clock, isoAfter } from '../../base/time.ts'
import { CertificateFault, type Pair, readPair } from '../pair.ts'
import { accountKeyPath, openAccountKey } from './account-key.ts'
import { acmeRetryAfterMs, connectToCa } from './client.ts'
import { AcmeFault } from './fault.ts'
import { createAcmeHttp } from './http.ts'
import { issuedPaths } from './issued.ts'
import { orderCertificate } from './order.ts'
import { openResponder, type Responder } from './responder.ts'
import { exchangeCertificate, type SharedOrders, takeOver } from './shared.ts'
import { readStanding, type Standing, standingPath, writeStanding } from './standing.ts'

/** The gaps after failed orders, until the last for as long as it takes; and the longest that a CA may ask for. */
const acmeGapsMs = [600_000, 3_600_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000] as const
/** The time between two questions to DNS for the first address of a name. */
const acmeAddressMs = 30_000
/** Failed orders after which a name waits like any other (Let's Encrypt allows five an hour). */
const acmeEarlyOrders = 3
/** How often it is looked whether a certificate is due. */
const acmeLookMs = 600_000

export interface RenewalParts {
  /** The address of the CA's directory. */
  readonly directory: string
  readonly contact: string | undefined
  readonly names: readonly string[]
  /** Where the question of the CA is answered. */
  readonly listen: readonly { readonly host: string; readonly port: number }[]
  readonly dataDir: string
  readonly clock: Clock
  readonly log: Log
  /** Random numbers in [0, 1). */
  readonly random: () => number
  /** Whether DNS has an address of a name; undefined: it does not say. */
  readonly hasAddress: (name: string) => Promise<boolean | undefined>
  /** Called when there is a new certificate. */
  readonly onIssued: () => Promise<void>
  /** See `createAcmeHttp`. */
  readonly ca?: string
  /** Where other nodes may order the same. */
  readonly shared?: SharedOrders
}

/** Keeps a certificate from a CA in force. */
export interface Renewal {
  /** Orders a certificate if one is due and none is being ordered. Never throws for what the CA does. */
  look(): Promise<void>
  stop(): Promise<void>
}

/**
 * Looks at once and every ten minutes whether a certificate is due: there is none, its names are others, or two thirds
 * of its time are over, give or take some so that a thousand servers do not come at once. After a failure the gaps
 * grow, and what the CA asks for is heeded; but where a name had no address, it is ordered again as soon as it has one, a few times. Of one data directory there is one daemon (`lockDataDirectory`), so no two
 * order at once; of several nodes one orders at a time, each answers the CA and has what came of it, and when it dies another goes on.
 */
export function startRenewal(parts: RenewalParts): Renewal {
  const { clock, log, shared } = parts
  const stopping = new AbortController()
  const jitter = parts.random()
  let working: Promise<void> | undefined
  let saidUntil = ''
  /** Whether the last order failed while a name had no address. */
  let isForAddress = false
  /** Whether another node orders. */
  let isElsewhere = false
  let responder: Responder | undefined
  let saidWhy = ''

  /** Who starts the daemon and sees no certificate is told what it waits for, once. */
  function sayOnce({ notBefore, error }: Standing): void {
    if (saidUntil === notBefore) return
    saidUntil = notBefore
    log.warn({ names: parts.names, notBefore, error }, 'ACME: the last order failed; it is tried again')
  }

  async function work(): Promise<void> {
    try {
      if (shared) await listenForOthers()
      if (!(await isDue())) return
      const giveBack = shared ? await shared.take() : async () => {}
      isElsewhere = giveBack === undefined
      if (!giveBack) return
      try {
        // Another may have made it just now.
        if (!shared || (await isDue())) await orderInTime()
      } finally {
        await giveBack()
      }
    } catch (error) {
      if (!stopping.signal.aborted) log.error({ err: error }, 'ACME: the certificate can not be looked after')
    }
  }

  /** Is asked by a CA for other nodes as well. */
  async function listenForOthers(): Promise<void> {
    if (responder) return
    try {
      responder = await openResponder(parts.listen, shared)
    } catch (error) {
      const why = String(error)
      if (why !== saidWhy) log.error({ err: error }, 'ACME: the CA can not ask at this node')
      saidWhy = why
    }
  }

  async function isDue(): Promise<boolean> {
    const now = clock.now()
    const found = await findIssued(parts, now)
    let pair = found && hasNames(found, parts.names) ? found : undefined
    if (shared && (await exchangeCertificate(shared, issuedPaths(parts.dataDir), pair, now))) {
      log.info({ names: parts.names }, 'ACME: there is a new certificate, which another node has got')
      pair = await findIssued(parts, now)
      await parts.onIssued()
    }
    if (shared) await takeOver(shared, parts.dataDir, 'standing')
    return !pair || renewalAt(pair, jitter) <= now
  }

  async function orderInTime(): Promise<void> {
    const now = clock.now()
    const standing = await readStanding(parts.dataDir)
    // A time that is too far off is that of a clock that was wrong.
    isForAddress = false
    const waitMs = standing ? Date.parse(standing.notBefore) - now.getTime() : 0
    if (standing && standing.order === orderOf(parts) && waitMs > 0 && waitMs <= acmeRetryAfterMs * 2) {
      if (!(await hasWhatWasMissing(standing))) return sayOnce(standing)
      log.info({ names: standing.withoutAddress }, 'ACME: the names have addresses now')
    }
    await renew(standing?.failures ?? 0)
  }

  async function note(standing: Standing | undefined): Promise<void> {
    await writeStanding(parts.dataDir, standing)
    if (shared) await shared.write('standing', await readFile(standingPath(parts.dataDir), 'utf8'))
  }

  /** A CA refuses who lets too many orders fail, so this cuts only the first gaps short. */
  async function hasWhatWasMissing({ withoutAddress, failures }: Standing): Promise<boolean> {
    if (withoutAddress.length === 0 || failures > acmeEarlyOrders) return false
    isForAddress = true
    const found = await Promise.all(withoutAddress.map(parts.hasAddress))
    return found.every(has => has === true)
  }

  async function renew(failures: number): Promise<void> {
    const { names, dataDir } = parts
    log.info({ names, directory: parts.directory }, 'ACME: a certificate is ordered')
    try {
      const { key, cert } = await order(parts, stopping.signal, responder)
      await replaceFile(issuedPaths(dataDir).certificate, key + cert)
      await shared?.write('certificate', key + cert)
      await note(undefined)
    } catch (error) {
      if (stopping.signal.aborted) return
      const gapMs = acmeGapsMs[Math.min(failures, acmeGapsMs.length - 1)]!
      const retryAfterMs = error instanceof AcmeFault ? error.retryAfterMs : 0
      const notBefore = isoAfter(clock.now(), Math.max(gapMs * (0.9 + 0.2 * parts.random()), retryAfterMs))
      const said = oneLine(error instanceof Error ? error.message : String(error))
      saidUntil = notBefore
      const has = await Promise.all(names.map(parts.hasAddress))
      const withoutAddress = names.filter((_, index) => has[index] === false)
      isForAddress = withoutAddress.length > 0
      await note({
        failures: failures + 1,
        notBefore,
        order: orderOf(parts),
        error: said,
        withoutAddress,
      })
      // What a CA did is one line, which has its cause in it.
      const why = error instanceof AcmeFault ? { error: said } : { err: error }
      const isSoon = isForAddress ? { withoutAddress } : {}
      const until = isForAddress ? ', as soon as DNS has an address of each name' : ''
      log.error({ names, notBefore, ...isSoon, ...why }, `ACME: no certificate; it is tried again${until}`)
      return
    }
    log.info({ names }, 'ACME: there is a new certificate')
    await parts.onIssued()
  }

  function look(): Promise<void> {
    working ??= work().finally(() => {
      working = undefined
    })
    return working
  }

  const timer = setInterval(look, acmeLookMs).unref()
  const forAddress = setInterval(() => {
    if (isForAddress || isElsewhere) void look()
  }, acmeAddressMs).unref()
  const changesNoMore = shared?.onChange(() => void look())
  void look()
  return {
    look,
    async stop() {
      clearInterval(timer)
      clearInterval(forAddress)
      changesNoMore?.()
      stopping.abort()
      await working
      await responder?.close()
    },
  }
}

/** What is asked of whom; `standing.json` keeps it to tell whether it was changed. */
function orderOf({ directory, contact, names, listen, shared }: RenewalParts): string {
  // Each node has addresses of its own.
  return JSON.stringify({ directory, contact, names, ...(!shared && { listen }) })
}

/** @param open the one that listens all the time */
async function order(
  parts: RenewalParts,
  stopping: AbortSignal,
  open: Responder | undefined,
): Promise<Pick<Pair, 'key' | 'cert'>> {
  const { clock, names, directory, contact, shared } = parts
  const keyPath = accountKeyPath(parts.dataDir)
  await mkdir(dirname(keyPath), { recursive: true, mode: 0o700 })
  // All of the nodes' orders are those of one account.
  if (shared) await takeOver(shared, parts.dataDir, 'account')
  const key = await openAccountKey(keyPath)
  if (shared) await takeOver(shared, parts.dataDir, 'account')
  const http = createAcmeHttp(stopping, parts.ca)
  try {
    const responder = open ?? (await openResponder(parts.listen, shared))
    try {
      const client = await connectToCa({ http, key, clock, directory, contact })
      return await orderCertificate({ client, responder, names, clock, signal: stopping })
    } finally {
      if (!open) await responder.close()
    }
  } finally {
    await http.close()
  }
}

/** The certificate that is there; undefined when there is none that can be used. */
async function findIssued({ dataDir }: RenewalParts, now: Date): Promise<Pair | undefined> {
  try {
    const { pair, outOfTime } = await readPair(issuedPaths(dataDir), now)
    return outOfTime ? undefined : pair
  } catch (error) {
    if (error instanceof CertificateFault) return undefined
    throw error
  }
}

const hasNames = (pair: Pair, names: readonly string[]) =>
  names.every(name => pair.names.includes(name)) && pair.names.length === names.length

/** At two thirds of its time and up to a twentieth of it later. */
function renewalAt({ notBefore, notAfter }: Pair, jitter: number): Date {
  const lifeMs = notAfter.getTime() - notBefore.getTime()
  return new Date(notBefore.getTime() + lifeMs * (2 / 3 + jitter / 20))
}
