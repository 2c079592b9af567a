import { setImmediate } from 'node:timers/promises'
import { Problem } from '../../base/problem.ts'
import type { Message } from '../../model/message.ts'
import { pageSizeMax } from '../../model/page.ts'
import { filterActiveApiKeys } from '../../store/api-keys.ts'
import { type ListedMessageRow, newestFirst } from '../../store/listed-messages.ts'
import { listInboundAfter, listNewestInbound, listShownMessages } from '../../store/messages.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { createTally, podShare } from '../app/share.ts'
import type { WaitAnswer, WaitAsked, Waiter, Waiters } from '../app/waiters.ts'
import { presentMessages } from './messages.ts'

/** Requests that wait for mail: in all, with one key, and those answered in one turn of the event loop. */
export const waitersMax = 10_000
export const waitsPerKey = 100
export const waitersAtOnce = 50
/** Bytes of texts that waiting requests are given in one turn of the event loop. */
export const waitersTurnBytes = 2 * 1024 * 1024
/** How often the inboxes that somebody waits for are looked at without being told; whole times `streamPollMs`. */
export const waitPollMs = 5_000
/** How often a stream looks for events and revoked keys that another process wrote. */
export const streamPollMs = 1_000
/** Keys, and inboxes that are waited for, that are asked for at once. */
export const streamPage = 500

interface Place {
  readonly asked: WaitAsked
  /** False until the inbox was looked at after it came: what stood there then is not new to it. */
  isReady: boolean
  readonly answer: (answer: WaitAnswer) => void
  readonly refuse: (problem: unknown) => void
  readonly end: () => void
}

/** An inbox in which somebody waits for mail. */
interface Watched {
  readonly id: string
  readonly places: Set<Place>
  /** The ids of its newest inbound messages, in order, of which all who are ready were told; undefined before the first look. */
  known: readonly string[] | undefined
  /** The look that is under way, and the one that begins after it, for whoever asked meanwhile. */
  looking: Promise<void>
  next: Promise<void> | undefined
}

const nobody: WaitAnswer = { data: [] }

export function createWaiters(app: App): Waiters {
  const inboxes = new Map<string, Watched>()
  const perKey = createTally<string | null>()
  const perPod = createTally<string>()
  let count = 0
  let fallAsleep = () => {}

  /** Looks at an inbox, after the look that is under way; who asks meanwhile shares it. */
  function look(inbox: Watched): Promise<void> {
    inbox.next ??= inbox.looking.then(() => {
      inbox.next = undefined
      const look = lookNow(inbox)
      inbox.looking = look.catch(() => {})
      return look
    })
    return inbox.next
  }

  async function lookNow(inbox: Watched): Promise<void> {
    const all = [...inbox.places]
    if (inbox.known) await tellNew(inbox, inbox.known)
    else inbox.known = (await listNewestInbound(app.store.read, inbox.id, pageSizeMax)).reverse()
    // After all was told that had come before them.
    for (const place of all) place.isReady = true
  }

  /**
   * Tells those who are ready of all that came, the oldest first, of which each gets as many as one answer has. What was told is known from
   * then on, and not before: a look that fails is made up for by the next one.
   */
  async function tellNew(inbox: Watched, seen: readonly string[]): Promise<void> {
    for (let known = seen; ; ) {
      // Older ones than all that are known are not new: they moved up because others were deleted.
      const oldest = known.length < pageSizeMax ? '' : known[0]!
      const ids = await listInboundAfter(app.store.read, inbox.id, oldest, 2 * pageSizeMax)
      const before = new Set(known)
      const fresh = ids.filter(id => !before.has(id)).slice(0, pageSizeMax)
      const ready = [...inbox.places].filter(place => place.isReady)
      if (ready.length > 0 && fresh.length > 0) {
        await checkKeys(ready)
        await hand(await listShownMessages(app.store.read, fresh), ready)
      }
      known = [...known, ...fresh].sort().slice(-pageSizeMax)
      inbox.known = known
      if (fresh.length < pageSizeMax) return
    }
  }

  /** Answers those to whom a message came, some of them in each turn of the event loop. */
  async function hand(rows: readonly ListedMessageRow[], places: readonly Place[]): Promise<void> {
    // The URLs of attachments differ from key to key.
    const haveUrls = rows.some(({ attachments }) => attachments !== '[]')
    const shownTo = new Map<string | null, ReadonlyMap<string, Message>>()
    const answers = new Map<string, WaitAnswer>()
    let bytes = 0
    for (const [index, place] of places.entries()) {
      if (index > 0 && (index % waitersAtOnce === 0 || bytes >= waitersTurnBytes)) {
        await setImmediate()
        bytes = 0
      }
      const taken = newestFirst(rows.filter(row => place.asked.takes(row)))
      if (taken.length === 0) continue
      bytes += taken.reduce((sum, row) => sum + row.bodyText.length + row.bodyHtml.length, 0)
      const ids = taken.map(row => row.id)
      const { caller } = place.asked
      const key = haveUrls ? caller.keyId : null
      const shown =
        shownTo.get(key) ??
        new Map((await presentMessages(app, caller, rows)).map(message => [message.id, message]))
      shownTo.set(key, shown)
      const name = `${key} ${ids.join()}`
      const answer = answers.get(name) ?? { data: ids.map(id => shown.get(id)!) }
      answers.set(name, answer)
      place.answer(answer)
      place.end()
    }
  }

  async function checkKeys(places: readonly Place[]): Promise<void> {
    const ids = [...new Set(places.flatMap(({ asked }) => asked.caller.keyId ?? []))]
    const active = new Set<string | null>([null])
    for (let at = 0; at < ids.length; at += streamPage) {
      const some = ids.slice(at, at + streamPage)
      for (const id of await filterActiveApiKeys(app.store.read, some)) active.add(id)
    }
    for (const { asked, refuse } of places) {
      if (!active.has(asked.caller.keyId)) refuse(new Problem('unauthorized'))
    }
  }

  const report = (error: unknown) => app.log.error({ err: error }, 'who waits for mail can not be served')

  const logged = (work: Promise<void>) => void work.catch(report)

  const checkAll = () => logged(checkKeys([...inboxes.values()].flatMap(({ places }) => [...places])))

  /** What other processes received and revoked is seen here. Gives whether all could be looked at. */
  async function lookAtAll(): Promise<boolean> {
    let isDone = true
    for (const [index, inbox] of [...inboxes.values()].entries()) {
      if (index > 0 && index % waitersAtOnce === 0) await setImmediate()
      await look(inbox).catch(error => {
        isDone = false
        report(error)
      })
    }
    return isDone
  }

  function wakeUp(): void {
    let seen = app.store.version()
    let ticks = 0
    let isOver = true
    const timer = setInterval(() => {
      ticks++
      const version = app.store.version()
      // Nothing was committed since by anybody.
      if (version !== undefined && version === seen) return
      checkAll()
      if ((ticks * streamPollMs) % waitPollMs !== 0 || !isOver) return
      isOver = false
      void lookAtAll().then(isDone => {
        isOver = true
        if (isDone) seen = version
      })
    }, streamPollMs)
    const offs = [
      app.store.onCommit('revocation', checkAll),
      app.store.onCommit('mail', inboxIds => {
        for (const id of inboxIds) {
          const inbox = inboxes.get(id)
          if (inbox) logged(look(inbox))
        }
      }),
    ]
    fallAsleep = () => {
      clearInterval(timer)
      for (const off of offs) off()
    }
  }

  function requirePlace({ keyId, podId }: Caller): void {
    if (perKey.of(keyId) >= waitsPerKey) {
      throw new Problem(
        'too_many_streams',
        `${waitsPerKey} requests with this key wait for mail already. Wait for mail of many inboxes with a stream of events.`,
      )
    }
    if (podId !== null && perPod.of(podId) >= podShare(waitersMax)) {
      throw new Problem('too_many_streams', 'As many requests with keys of this pod wait for mail as may.')
    }
    if (count >= waitersMax)
      throw new Problem('unavailable', 'Too many requests wait for mail. Try again shortly.')
  }

  function change({ keyId, podId }: Caller, by: 1 | -1): void {
    perKey.add(keyId, by)
    if (podId !== null) perPod.add(podId, by)
    count += by
    if (count === 1 && by === 1) wakeUp()
    if (count === 0) fallAsleep()
  }

  return {
    wait(asked) {
      const { caller, inboxId, signal } = asked
      requirePlace(caller)
      signal.throwIfAborted()
      const inbox = inboxes.get(inboxId) ?? {
        id: inboxId,
        places: new Set(),
        known: undefined,
        looking: Promise.resolve(),
        next: undefined,
      }
      inboxes.set(inboxId, inbox)
      const { promise, resolve, reject } = Promise.withResolvers<WaitAnswer>()
      // Whoever waits may have gone before it is refused.
      promise.catch(() => {})
      const abort = () => place.refuse(signal.reason)
      const end = () => {
        if (!inbox.places.delete(place)) return
        signal.removeEventListener('abort', abort)
        if (inbox.places.size === 0) inboxes.delete(inboxId)
        change(caller, -1)
      }
      const place: Place = { asked, isReady: false, answer: resolve, refuse: reject, end }
      inbox.places.add(place)
      signal.addEventListener('abort', abort)
      change(caller, 1)
      return waiterOf(place, promise, look(inbox))
    },
    count: () => count,
  }
}

function waiterOf(place: Place, answer: Promise<WaitAnswer>, ready: Promise<void>): Waiter {
  return {
    ready,
    async arrived(ms) {
      const timer = setTimeout(place.answer, ms, nobody)
      try {
        return await answer
      } finally {
        clearTimeout(timer)
      }
    },
    end: place.end,
  }
}
