import { setImmediate } from 'node:timers/promises'
import type { Scope } from '../../base/ids.ts'
import { domainOf, normaliseAddress, normaliseMailDomain } from '../../mail/address/address.ts'
import { pageSizeMax } from '../../model/page.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { type ListedMessageRow, newestFirst } from '../../store/listed-messages.ts'
import { listShownMessages } from '../../store/messages.ts'
import type { SearchFilter } from '../../store/search/filter.ts'
import { type IndexedMessage, searchEarliest } from '../../store/search/search.ts'
import { indexWaiting, listEarliestWaiting } from '../../store/search/waiting.ts'
import { holdsPhrase, indexTokens, readPhrase, readTerms, senderTokens } from '../../store/search/words.ts'
import type { MessageRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { getInboxRow } from '../app/reach.ts'
import type { WaitAnswer } from '../app/waiters.ts'
import { presentMessages } from './messages.ts'
import { readFilter } from './search-filter.ts'

/** How long a request that waits for mail may look through the mail that is there, also if it waits for less time. */
export const waitLookMs = 5_000

/** What is waited for: inbound mail, all of it or what these say. */
export interface Awaited {
  readonly from?: string | undefined
  readonly subject?: string | undefined
  /** An instant: mail after it counts, also when it is there already. Without it only mail that comes from now on. */
  readonly after?: string | undefined
  /** Whether mail in which a scanner found a virus counts as well. */
  readonly includeMalicious?: boolean | undefined
  /** Whether mail counts as well whose author is not proven to be the one that `from` asks for. */
  readonly unproven?: boolean | undefined
}

/**
 * The messages that are waited for, as soon as there is one, and none when `timeoutMs` are over: of more than `pageSizeMax` the
 * oldest, newest first, so that `after` with the `createdAt` of the first one leads to the others.
 * @throws Problem `not_found`, `invalid_request`; as `Waiters`, or what `signal` is aborted with
 */
export async function waitForMessages(
  app: App,
  caller: Caller,
  inboxId: string,
  awaited: Awaited,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<WaitAnswer> {
  const inbox = await getInboxRow(app.store.read, caller, inboxId)
  const { includeMalicious = false, unproven = false, ...asked } = awaited
  const exceptCategories = includeMalicious ? ['spam'] : ['spam', 'malicious']
  const filter = { ...readFilter(asked), direction: 'inbound', exceptCategories }
  const taker = takerOf(filter, unproven)
  const waiter = app.waiters.wait({ caller, inboxId: inbox.id, takes: taker.takes, signal })
  const began = app.clock.monotonicMs()
  const leftOf = (ms: number) => Math.max(0, ms - (app.clock.monotonicMs() - began))
  try {
    await waiter.ready
    // Looked for after what comes is watched for, so that nothing comes in between.
    if (filter.after !== undefined) {
      const isOver = () => {
        signal.throwIfAborted()
        return leftOf(Math.max(timeoutMs, waitLookMs)) === 0
      }
      const rows = await findThere(app, { podId: inbox.podId, inboxId: inbox.id }, filter, taker, isOver)
      if (rows.length > 0) return { data: await presentMessages(app, caller, rows) }
    }
    return await waiter.arrived(leftOf(timeoutMs))
  } finally {
    waiter.end()
  }
}

/** Whether a message may be one that is waited for, by what the index says of it. */
type Takes = (message: IndexedMessage) => boolean

interface Taker {
  /** Asked first: its columns are short, and strangers may send any number of messages that fail it. */
  readonly mayTake: Takes
  /** Whether a message is one that is waited for. */
  readonly takes: (message: MessageRow) => boolean
}

/**
 * The oldest messages after `filter.after`, newest first, so that a client that continues after the first one misses none. Messages
 * that are not in the index yet are included, because nothing would look for them again.
 * @param isOver asked before each page: when it is true, nothing more is looked at
 */
async function findThere(
  app: App,
  scope: Scope,
  filter: SearchFilter,
  taker: Taker,
  isOver: () => boolean,
): Promise<ListedMessageRow[]> {
  const db = app.store.read
  // Read before the index: a message that is indexed meanwhile is then in both.
  const waiting = await findUnindexed(db, scope, filter, taker, isOver)
  for (let { after } = filter; !isOver(); await setImmediate()) {
    const indexed = await searchEarliest(db, scope, { ...filter, after }, pageSizeMax)
    const end = indexed.length < pageSizeMax ? undefined : indexed.at(-1)!.createdAt
    const candidates = new Map<string, string>()
    for (const { id, createdAt } of waiting) {
      if ((after === undefined || createdAt > after) && (end === undefined || createdAt <= end))
        candidates.set(id, createdAt)
    }
    for (const message of indexed) if (taker.mayTake(message)) candidates.set(message.id, message.createdAt)
    const earliest = [...candidates].sort((a, b) => (a[1] < b[1] ? -1 : 1)).slice(0, pageSizeMax)
    const shown = await listShownMessages(
      db,
      earliest.map(([id]) => id),
    )
    const found = shown.filter(taker.takes)
    const next = candidates.size > pageSizeMax ? earliest.at(-1)![1] : end
    if (found.length > 0 || next === undefined) return newestFirst(found)
    after = next
  }
  return []
}

/** The oldest messages that match and are not in the index yet, oldest first: at least one page of an answer, or all of them. */
async function findUnindexed(
  db: Db,
  scope: Scope,
  filter: SearchFilter,
  taker: Taker,
  isOver: () => boolean,
): Promise<MessageRow[]> {
  const found: MessageRow[] = []
  for (let { after } = filter; !isOver(); await setImmediate()) {
    const page = await listEarliestWaiting(db, scope, { ...filter, after })
    found.push(...page.filter(taker.takes))
    if (page.length < indexWaiting || found.length >= pageSizeMax) break
    after = page.at(-1)!.createdAt
  }
  return found
}

/** Takes the messages that the filter would find, without a search, and that a proven author wrote. */
function takerOf(
  { from, subject, after, exceptCategories = [] }: SearchFilter,
  isUnprovenTaken: boolean,
): Taker {
  const isAsked = (text: string | undefined) => text !== undefined && text.trim() !== ''
  const sender = isAsked(from) ? readPhrase(from!) : undefined
  const isAuthor = isAsked(from) && !isUnprovenTaken ? provenAuthor(from!.trim()) : () => true
  const terms = isAsked(subject) ? readTerms(subject!) : []
  const mayTake: Takes = message => {
    if (after !== undefined && message.createdAt <= after) return false
    return !exceptCategories.includes(message.category) && isAuthor(message)
  }
  // A question without words finds nothing.
  const hasNoWords = (isAsked(from) && !sender) || (isAsked(subject) && terms.length === 0)
  const takes = (message: MessageRow) => {
    if (hasNoWords || !mayTake(message)) return false
    if (!sender && terms.length === 0) return true
    const tokens = tokensOf(message)
    if (sender && !holdsPhrase(tokens.from, sender)) return false
    return terms.every(term => holdsPhrase(tokens.subject, term) !== term.isExcluded)
  }
  return { mayTake, takes }
}

/**
 * Whether a proven author is the one that is asked for: an address is that address, and a domain that domain or one below it. A
 * stranger who proves a domain of their own may put any address into a display name or a local part.
 */
function provenAuthor(from: string): Takes {
  const address = normaliseAddress(/<([^<>]*)>\s*$/.exec(from)?.[1] ?? from)
  // What looks like an address and cannot be read as one names nobody.
  if (address === undefined && /[^@]@/.test(from)) return () => false
  const domain = from.includes('.') ? normaliseMailDomain(from.replace(/^@/, '')) : undefined
  return message => {
    if (message.fromProven === 0) return false
    const author = normaliseAddress(message.fromAddr)
    if (address !== undefined) return author === address
    if (domain === undefined) return true
    return author !== undefined && `.${domainOf(author)}`.endsWith(`.${domain}`)
  }
}

interface Tokens {
  readonly from: readonly string[]
  readonly subject: readonly string[]
}
/** Made once for all who wait for the message. */
const known = new WeakMap<MessageRow, Tokens>()

function tokensOf(message: MessageRow): Tokens {
  let tokens = known.get(message)
  if (!tokens) {
    const names = JSON.parse(message.addressNames ?? '{}') as Record<string, string>
    tokens = { from: senderTokens(message.fromAddr, names), subject: indexTokens(message.subject) }
    known.set(message, tokens)
  }
  return tokens
}
