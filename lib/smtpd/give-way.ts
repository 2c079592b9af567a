import { blockOf } from '../base/network.ts'

/** While all connections are taken, a session without a new command for so long gives its connection up. */
export const smtpQuietMs = 10_000
/** Then, too, who for so long has come no further than to commands: a recipient every few seconds costs nothing. */
export const smtpWordsMs = 30_000
/** Then, too, who after so long has brought less of his message a second, and who is here for so long (lib/smtpd/give-way.ts). */
export const smtpSlowMs = 20_000
export const smtpSlowBytes = 16 * 1024
export const smtpLongMs = 120_000

/** What is looked at of a session when all connections are taken. Times are of the clock that only goes forward. */
export interface Occupant {
  readonly id: string
  readonly remoteAddress: string
  /** Whether the operator trusts the address. */
  readonly isTrusted: boolean
  /** Who has authenticated. */
  readonly submitter: object | undefined
  readonly beganMs: number
  /** When it last came nearer to a message: its begin, each MAIL, RCPT and DATA that was not refused, and each `smtpQuietBytes` of a message. */
  readonly broughtMs: number
  /** The message that comes in: since when, and so many bytes of it so far. */
  readonly coming: { readonly sinceMs: number; readonly bytes: number } | undefined
  /** From the final dot until the reply, when it waits for us. */
  readonly isJudged: boolean
  /** Whether a message of it was taken. */
  readonly hadTurn: boolean
}

/** Why a session gives its place up, the first reason first. */
const ranks = ['idle', 'slow', 'had its turn', 'crowd', 'long'] as const
export type Rank = (typeof ranks)[number]

/** A session that gives its place up for a stranger who comes. */
export interface GivesWay {
  readonly id: string
  readonly rank: Rank
  readonly sinceMs: number
}

/**
 * Who may be asked for his place while all are taken. An operator's own and who has authenticated never are, and nobody is from the final dot
 * until the reply: it waits for us, for `authenticationMs` and a scanner's time at most, and what is stored then would come again. Of the others, in this
 * order: who has brought nothing for a while, or commands alone for a longer one (`idle`); a message that comes more slowly than any line is (`slow`); who had a message taken,
 * which costs him no more than to connect again (`had its turn`); who is of the block of addresses that has the most places (`crowd`); and who has
 * been here for long (`long`), whatever he brings. In one rank the longest first.
 * @param crowd the block (`blockOf`) that has more than its share of the places
 */
export function findWhoGivesWay(
  occupants: Iterable<Occupant>,
  nowMs: number,
  crowd: string | undefined,
): GivesWay[] {
  const found: GivesWay[] = []
  for (const one of occupants) {
    const rank = rankOf(one, nowMs, crowd)
    if (rank === undefined) continue
    found.push({ id: one.id, rank, sinceMs: rank === 'idle' ? one.broughtMs : one.beganMs })
  }
  return inOrder(found)
}

/** As they give way, the first one first. */
export function inOrder(found: readonly GivesWay[]): GivesWay[] {
  return found.toSorted(
    (one, other) => ranks.indexOf(one.rank) - ranks.indexOf(other.rank) || one.sinceMs - other.sinceMs,
  )
}

function rankOf(one: Occupant, nowMs: number, crowd: string | undefined): Rank | undefined {
  const { coming } = one
  if (one.isTrusted || one.submitter !== undefined || one.isJudged) return undefined
  if (nowMs - one.broughtMs >= smtpQuietMs) return 'idle'
  if (!coming && !one.hadTurn && nowMs - one.beganMs >= smtpWordsMs) return 'idle'
  if (coming && isSlow(coming.bytes, nowMs - coming.sinceMs)) return 'slow'
  if (one.hadTurn && !coming) return 'had its turn'
  if (crowd !== undefined && blockOf(one.remoteAddress) === crowd) return 'crowd'
  if (nowMs - one.beganMs >= smtpLongMs) return 'long'
  return undefined
}

function isSlow(bytes: number, tookMs: number): boolean {
  return tookMs >= smtpSlowMs && bytes < (smtpSlowBytes * tookMs) / 1000
}

/** The block of addresses that has the most of these places, if that is more than its even share of them. */
export function findCrowd(addresses: Iterable<string>): string | undefined {
  const counts = new Map<string, number>()
  let all = 0
  for (const address of addresses) {
    const block = blockOf(address)
    counts.set(block, (counts.get(block) ?? 0) + 1)
    all++
  }
  let most = { block: '', count: 0 }
  for (const [block, count] of counts) if (count > most.count) most = { block, count }
  return most.count * counts.size > all ? most.block : undefined
}
