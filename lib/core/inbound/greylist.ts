import { isoAfter } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import { blockOf } from '../../base/network.ts'
import { Reply } from '../../base/reply.ts'
import { sha256Hex } from '../../base/secret.ts'
import { durationMs } from '../../config/duration.ts'
import { findContacts } from '../../store/contacts.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { deleteGreylistBefore, findGreylistEntry, putGreylistEntry } from '../../store/greylist.ts'
import type { App } from '../app/app.ts'
import type { Recipient } from './recipient.ts'

/** Who wants to write to whom, from where. */
export interface Stranger {
  readonly remoteAddress: string
  /** Empty is the null reverse-path. */
  readonly mailFrom: string
  readonly recipient: Recipient
}

/**
 * Puts off who is not known (RFC 6647): the first time a block of addresses, a reverse-path and an inbox come together,
 * until they come again after greylist.delay. Known is also who the inbox has exchanged mail with, a block that came again
 * often, and what comes back to a reverse-path of ours.
 * @throws Reply 451 4.7.1
 */
export async function requireKnownSender(app: App, stranger: Stranger): Promise<void> {
  if (!app.config.greylist.enabled || stranger.recipient.deliveryId !== undefined) return
  const mailFrom = stranger.mailFrom.toLowerCase()
  const { inboxId } = stranger.recipient
  if (mailFrom !== '' && (await findContacts(app.store.read, inboxId, [mailFrom])).length > 0) return
  const block = blockOf(stranger.remoteAddress)
  const places = { block: placeOfBlock(block), triplet: placeOfTriplet(block, mailFrom, inboxId) }
  if (await isKnownForLong(app, places)) return
  const waitMs = await app.store.write(db => note(app, db, places))
  if (waitMs <= 0) return
  throw new Reply(
    451,
    '4.7.1',
    `Greylisted; please try again in ${Math.ceil(waitMs / 1000)} seconds`,
    'greylisted',
  )
}

interface Place {
  readonly slot: number
  readonly key: string
}

interface Places {
  readonly block: Place
  readonly triplet: Place
}

const blocks = 4096
const tripletsOfBlock = 16

/** One block has 16 slots and shares them with few others, so that it forgets its own triplets and not those of all. */
function placeOfTriplet(block: string, mailFrom: string, inboxId: string): Place {
  const key = sha256Hex(`${block}\n${mailFrom}\n${inboxId}`)
  const bucket = numberOf(sha256Hex(block)) % blocks
  return { slot: bucket * tripletsOfBlock + (numberOf(key) % tripletsOfBlock), key }
}

function placeOfBlock(block: string): Place {
  const key = sha256Hex(block)
  const first = blocks * tripletsOfBlock
  return { slot: first + (numberOf(key) % first), key }
}

/** Whether nothing is to be written: it is known, and for more than half of the time that it may be. */
async function isKnownForLong(app: App, { block, triplet }: Places): Promise<boolean> {
  const keepMs = durationMs(app.config.greylist.keep_for)
  const until = isoAfter(app.clock.now(), keepMs / 2)
  const knownBlock = await findGreylistEntry(app.store.read, block, until)
  if ((knownBlock?.passes ?? 0) >= limits.greylistPasses) return true
  return ((await findGreylistEntry(app.store.read, triplet, until))?.passes ?? 0) > 0
}

const numberOf = (hex: string) => Number.parseInt(hex.slice(0, 8), 16)

/** In one write, so that what two processes see adds up: gives how long there is to wait, 0 for who is known. */
async function note(app: App, db: WriteDb, { block, triplet }: Places): Promise<number> {
  const { delay, keep_for } = app.config.greylist
  const date = app.clock.now()
  const now = date.toISOString()
  const expiresAt = isoAfter(date, durationMs(keep_for))
  const knownBlock = await findGreylistEntry(db, block, now)
  const passesOfBlock = knownBlock?.passes ?? 0
  if (knownBlock && passesOfBlock >= limits.greylistPasses) {
    await putGreylistEntry(db, { ...knownBlock, expiresAt })
    return 0
  }
  const known = await findGreylistEntry(db, triplet, now)
  if (!known) {
    const retryUntil = isoAfter(date, durationMs(delay) + limits.greylistRetryMs)
    await putGreylistEntry(db, { ...triplet, passes: 0, firstSeenAt: now, expiresAt: retryUntil })
    return durationMs(delay)
  }
  const waitMs = Date.parse(known.firstSeenAt) + durationMs(delay) - date.getTime()
  if (known.passes === 0 && waitMs > 0) return waitMs
  await putGreylistEntry(db, { ...known, passes: known.passes + 1, expiresAt })
  if (known.passes === 0) {
    const firstSeenAt = knownBlock?.firstSeenAt ?? now
    await putGreylistEntry(db, { ...block, passes: passesOfBlock + 1, firstSeenAt, expiresAt })
  }
  return 0
}

/** Deletes some entries that are over; gives how many. */
export async function expireGreylist(app: App): Promise<number> {
  return app.store.write(db => deleteGreylistBefore(db, app.clock.now().toISOString(), limits.sweepRows))
}
