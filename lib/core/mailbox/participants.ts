import { baseAddress, normaliseAddress } from '../../mail/address/address.ts'
import { listedAddresses } from '../../mail/header/mailbox.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { listOldestOfThread } from '../../store/messages.ts'
import type { MessageRow, ThreadRow } from '../../store/tables.ts'

/** Messages of a thread that are read for its participants or correspondents. */
export const replyParticipants = 100
/** Participants of one thread, and how many of them others may name: the rest is for those whom the inbox writes to. */
const threadParticipants = 300
const namedParticipants = 100

/**
 * The addresses that a reply by thread may reach without being named (decisions, section 5), in lower case: everyone we wrote to in
 * the thread, the author and the Reply-To of its first message, and everyone whom a proven participant named in To, Cc or Reply-To.
 */
export type Participants = ReadonlySet<string>

/** What a message says about who takes part. */
export type Taking = Pick<
  MessageRow,
  'direction' | 'fromAddr' | 'replyTo' | 'toAddr' | 'headerTo' | 'cc' | 'bcc' | 'verdict' | 'fromProven'
>

/** Reads the participants of a thread; of one that began before they were kept, from its oldest messages. */
export async function participantsOf(
  db: Db,
  thread: Pick<ThreadRow, 'id' | 'participants'>,
): Promise<Participants> {
  if (thread.participants !== null) return new Set(JSON.parse(thread.participants) as string[])
  let found: Participants = new Set()
  const oldest = await listOldestOfThread(db, thread.id, replyParticipants)
  for (const [index, message] of oldest.entries()) {
    // Whether the author was proven was not kept with old messages.
    const known = message.direction === 'inbound' ? { ...message, fromProven: 0 } : message
    found = withMessage(found, known, index === 0)
  }
  return found
}

/**
 * Returns the participants with those that a message adds. An inbound one adds nobody if its author is not among them.
 * @param isFirst whether the thread begins with it
 */
export function withMessage(participants: Participants, message: Taking, isFirst: boolean): Participants {
  const cc = JSON.parse(message.cc) as string[]
  const to = listedAddresses(message.headerTo ?? '')
  if (message.direction === 'outbound') {
    const written = [message.toAddr, ...to, ...cc, ...(JSON.parse(message.bcc) as string[])]
    return withAddresses(participants, normalised(written), threadParticipants)
  }
  // The inbox itself is none, or anyone who forges its address could lead the thread.
  const self = message.toAddr
  const others = (addresses: readonly string[]) =>
    normalised(addresses.filter(text => text !== self)).filter(address => baseAddress(address) !== self)
  const author = others([message.fromAddr])
  const isClean = message.verdict === 'clean'
  const replyTo = isClean ? others(listedAddresses(message.replyTo ?? '')) : []
  const first = isFirst ? [...author, ...replyTo] : []
  const begun = withAddresses(participants, first, namedParticipants)
  const isTrusted = isClean && message.fromProven !== 0 && author.some(address => begun.has(address))
  return isTrusted ? withAddresses(begun, [...others([...to, ...cc]), ...replyTo], namedParticipants) : begun
}

function normalised(addresses: readonly string[]): string[] {
  return addresses.flatMap(text => normaliseAddress(text) ?? [])
}

export function isParticipant(
  participants: Participants,
  { fromAddr }: Pick<MessageRow, 'fromAddr'>,
): boolean {
  const author = normaliseAddress(fromAddr)
  return author !== undefined && participants.has(author)
}

/** @param most how many there may be: the place that others leave is for those whom we write to */
function withAddresses(participants: Participants, addresses: readonly string[], most: number): Participants {
  const all = new Set(participants)
  for (const address of addresses) {
    if (all.size >= most) break
    all.add(address)
  }
  return all
}

/** Returns the JSON of `thread.participants`. */
export function writeParticipants(participants: Participants): string {
  return JSON.stringify([...participants])
}
