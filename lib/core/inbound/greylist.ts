import { blockOf } from '../../base/network.ts'
import { Reply } from '../../base/reply.ts'
import { sha256Hex } from '../../base/secrets.ts'
import { isoAfter } from '../../base/time.ts'
import { durationMs } from '../../config/duration.ts'
import { findContacts } from '../../store/contacts.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import { type Held, holdsNothing } from '../../store/dialect/held.ts'
import { deleteGreylistBefore, listGreylistEntries, putGreylistEntry } from '../../store/greylist.ts'
import { sweepRows } from '../../store/sweeps.ts'
import type { App, Reads } from '../app/app.ts'
import type { Recipient } from './recipient.ts'

/**
 * Greylisting: how long one that was put off may take to come again, how long of that it keeps its place where others of its
 * block need it, and after how many a block of addresses is known.
 */
const greylistRetryMs = 86_400_000
const greylistYieldMs = 7_200_000
const greylistPasses = 5

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
 * @param note `noteStranger`, where the database is written
 * @throws Reply 451 4.7.1
 */
export async function requireKnownSender(
  app: Reads,
  stranger: Stranger,
  note: (places: Places) => Promise<number>,
): Promise<void> {
  if (!app.config.greylist.enabled || stranger.recipient.deliveryId !== undefined) return
  const mailFrom = stranger.mailFrom.toLowerCase()
  const { inboxId } = stranger.recipient
  const isContact = mailFrom !== '' && (await findContacts(app.store.read, inboxId, [mailFrom])).length > 0
  if (isContact) return app.meter.count('greylist_total', 'known')
  const block = blockOf(stranger.remoteAddress)
  const places = { block: placeOfBlock(block), triplet: placeOfTriplet(block, mailFrom, inboxId) }
  if (await isKnownForLong(app, places)) return app.meter.count('greylist_total', 'known')
  const waitMs = await note(places)
  app.meter.count('greylist_total', waitMs <= 0 ? 'passed' : 'deferred')
  if (waitMs <= 0) return
  throw new Reply(
    451,
    '4.7.1',
    `Greylisted; please try again in ${Math.ceil(waitMs / 1000)} seconds`,
    'greylisted',
  )
}

/** The slots that an entry may have, tried from `own` on and around. */
interface Place {
  readonly key: string
  readonly first: number
  readonly count: number
  readonly own: number
}

/** Where a stranger is remembered. */
export interface Places {
  readonly block: Place
  readonly triplet: Place
}

const buckets = 1024
const slotsOfBucket = 64

/** One block has 64 slots and shares them with few others, so that it fills its own and not those of all. */
function placeOfTriplet(block: string, mailFrom: string, inboxId: string): Place {
  const key = sha256Hex(`${block}\n${mailFrom}\n${inboxId}`)
  const bucket = numberOf(sha256Hex(block)) % buckets
  return { key, first: bucket * slotsOfBucket, count: slotsOfBucket, own: numberOf(key) % slotsOfBucket }
}

function placeOfBlock(block: string): Place {
  const key = sha256Hex(block)
  const first = buckets * slotsOfBucket
  return { key, first: first + (numberOf(key) % first), count: 1, own: 0 }
}

const numberOf = (hex: string) => Number.parseInt(hex.slice(0, 8), 16)

/** Whether nothing is to be written: it is known, and for more than half of the time that it may be. */
async function isKnownForLong(app: Reads, { block, triplet }: Places): Promise<boolean> {
  const keepMs = durationMs(app.config.greylist.keep_for)
  const until = isoAfter(app.clock.now(), keepMs / 2)
  const passesOf = async (place: Place) => (await lookUp(app.store.read, place, until)).known?.passes ?? 0
  return (await passesOf(block)) >= greylistPasses || (await passesOf(triplet)) > 0
}

/**
 * The entry of a place, if there is one, and else the slot that a new one may take: a free one, or that of one that was first
 * seen before `lateBefore` and has not come again. Where there is none, an entry that has not come again, to share its time;
 * neither where all have, for whoever proved itself does not yield to a stranger.
 */
async function lookUp(db: Db, { key, first, count, own }: Place, now: string, lateBefore = now) {
  const rows = await listGreylistEntries(db, { first, count }, now)
  const bySlot = new Map(rows.map(row => [row.slot, row]))
  const slots = Array.from({ length: count }, (_, step) => first + ((own + step) % count))
  const isPending = (slot: number) => bySlot.get(slot)?.passes === 0
  const isLate = (slot: number) => isPending(slot) && bySlot.get(slot)!.firstSeenAt < lateBefore
  const shared = slots.find(isPending)
  return {
    known: rows.find(row => row.key === key),
    slot: slots.find(one => !bySlot.has(one)) ?? slots.find(isLate),
    shared: shared === undefined ? undefined : bySlot.get(shared),
  }
}

/** The name that a write holds which gives out the slots of a place. */
const slotsOf = ({ first }: Place) => `greylist ${first}`
export const heldByStranger = ({ block, triplet }: Places): Held => ({
  names: [slotsOf(block), slotsOf(triplet)],
})

/** In one write, so that what two processes see adds up: gives how long there is to wait, 0 for who is known. */
export async function noteStranger(app: App, db: WriteDb, places: Places): Promise<number> {
  const { delay, keep_for } = app.config.greylist
  const date = app.clock.now()
  const now = date.toISOString()
  const expiresAt = isoAfter(date, durationMs(keep_for))
  const block = await lookUp(db, places.block, now)
  if (block.known && block.known.passes >= greylistPasses) {
    await putGreylistEntry(db, { ...block.known, expiresAt })
    return 0
  }
  const lateBefore = isoAfter(date, -durationMs(delay) - greylistYieldMs)
  const { known, slot, shared } = await lookUp(db, places.triplet, now, lateBefore)
  const waitMsOf = ({ firstSeenAt }: { firstSeenAt: string }) =>
    Math.max(0, Date.parse(firstSeenAt) + durationMs(delay) - date.getTime())
  if (!known && slot === undefined) {
    // More come from there than can be remembered. To forget one of them would put an honest sender off again each time that it
    // comes, for as long as others of its block keep coming. So who finds no room waits for as long as one who has some.
    return shared === undefined ? 0 : waitMsOf(shared)
  }
  if (!known) {
    const { key } = places.triplet
    const retryUntil = isoAfter(date, durationMs(delay) + greylistRetryMs)
    await putGreylistEntry(db, { slot: slot!, key, passes: 0, firstSeenAt: now, expiresAt: retryUntil })
    return durationMs(delay)
  }
  const waitMs = waitMsOf(known)
  if (known.passes === 0 && waitMs > 0) return waitMs
  await putGreylistEntry(db, { ...known, passes: known.passes + 1, expiresAt })
  if (known.passes === 0) await notePassOfBlock(db, places.block, now, expiresAt)
  return 0
}

async function notePassOfBlock(db: WriteDb, place: Place, now: string, expiresAt: string): Promise<void> {
  const { known, slot } = await lookUp(db, place, now)
  if (known) await putGreylistEntry(db, { ...known, passes: known.passes + 1, expiresAt })
  else if (slot !== undefined) {
    await putGreylistEntry(db, { slot, key: place.key, passes: 1, firstSeenAt: now, expiresAt })
  }
}

/** Deletes some entries that are over; gives how many. */
export async function expireGreylist(app: App): Promise<number> {
  return app.store.writeHolding(holdsNothing, db =>
    deleteGreylistBefore(db, app.clock.now().toISOString(), sweepRows),
  )
}
