import type { Clock } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import { findDestination, putDestination } from '../store/destinations.ts'
import type { Store } from '../store/open.ts'
import { findWaiting, hasFirstAttempt } from '../store/queue-turns.ts'
import { isWorthALook, type Looked } from './decisions.ts'
import { createLook } from './fair-look.ts'
import type { Membership } from './lease.ts'
import { type Leased, LeaseLost, type Turns } from './leased.ts'
import { type Allowance, Pace } from './pace.ts'
import { type FairPlace, isRoomAt, Patience, Places, pressAll, roomAt, type Sort } from './places.ts'
import { newRotations } from './rotation.ts'
import { leadElsewhere, NamesKnown, probed, probeNow, type Showing } from './standing.ts'
import { type Held, podAt, roomless, Stays } from './stays.ts'

export interface FairTurns extends Turns {
  /** The place of an entry that is under way. @param freed called when others may have it before the entry comes to its end */
  placeOf(entry: Leased, freed?: () => void): FairPlace
}

export interface FairTurnsParts {
  readonly store: Store
  readonly clock: Clock
  readonly members: Membership
  /** How many attempts are under way at once in all, and what one destination may get. */
  readonly concurrency: number
  readonly allowanceOf: (destination: string) => Allowance
}

const kind = 'delivery'

/**
 * The turns of mail. New mail goes before what was tried already, in turns of pods and their inboxes; what fails or hangs
 * holds a part of the places only (lib/queue/places.ts). What decides about a destination is a row (lib/queue/standing.ts).
 * In memory are what this process has under way, the destinations that answered it, who sent there lately, and the groups that
 * domains turned out to be of: bounded, and when lost learnt anew.
 */
export function createFairTurns(parts: FairTurnsParts): FairTurns {
  const { store, clock, members } = parts
  /** Providers whose addresses these are: they get there what their provider gets. */
  const providers = new NamesKnown<string>(limits.destinationsKnown)
  const pace = new Pace(clock, name => parts.allowanceOf(providers.get(name) ?? name))
  const places = new Places(parts.concurrency)
  const held = new Map<string, Held>()
  let lingering = 0
  const stays = new Stays(clock)
  const proven = new NamesKnown<true>(limits.destinationsKnown)
  const groups = new NamesKnown<string>(limits.destinationsKnown)
  /** Destinations whose mail had to wait for room at an address, and at which: what comes next waits there untried. */
  const waited = new NamesKnown<string>(limits.destinationsKnown)
  let pressing: NodeJS.Timeout | undefined
  const mostAt = (name: string) => pace.most(name, stays.at(name))
  const share = (name: string, podId: string) => stays.share(name, podId, pace.concurrency(name))
  const lookOnce = createLook({
    members,
    concurrencyPerDestination: mostAt,
    share,
    isUnderWay: id => held.has(id),
    isProven: name => proven.get(name) === true,
    groupOf(destination) {
      const name = groups.get(destination) ?? destination
      const address = waited.get(name)
      return address !== undefined && room(address) <= 0 ? address : name
    },
    rotations: newRotations(),
  })

  const room = (name: string) => mostAt(name) - stays.at(name)
  const hasRoom = (name: string, podId: string) =>
    room(name) > 0 && (stays.ofPod.get(podAt(name, podId)) ?? 0) < share(name, podId)
  const isAnybodyAt = (name: string) =>
    [...held.values()].some(({ stay }) => stay.name === name && stay.state === 'there')

  /**
   * Who is on the way for longer than a place is kept has none from now on, and may hang: whatever a tenant's DNS and policy
   * server do, it is no other's place that is stuck in them. It is taken when it comes and there is room. A probe is another's.
   */
  async function passLate(): Promise<void> {
    const unprobed: string[] = []
    for (const mine of held.values()) {
      for (const stay of [mine.stay, mine.room]) {
        if (stay === undefined || !stays.isOverdue(stay)) continue
        stays.leave(stay)
        pace.returned(stay.name)
        if (stay !== mine.stay) continue
        if (mine.sort.isProbe) unprobed.push(stay.name)
        mine.isLateProbe = mine.sort.isProbe
        const sort = { isRetry: mine.sort.isRetry, isProbe: false, isUnproven: true }
        // Where those who may hang have all of theirs, it is counted as what it was.
        if (mine.sort.isProbe || places.mayChange(stay.podId, mine.sort, sort)) resort(mine, sort)
      }
    }
    for (const name of unprobed) await store.write(db => probeNow(db, clock, name))
  }

  function resort(mine: Held, sort: Sort): void {
    places.count(mine.stay.podId, mine.sort, -1)
    mine.sort = sort
    places.count(mine.stay.podId, sort, 1)
  }

  function show(name: string, showing: Showing): void {
    if (showing === 'fails') proven.forget(name)
    else proven.note(name, true)
    if (showing === 'answers') pace.answered(name)
    if (showing === 'slows') pace.slowDown(name)
    if (showing === 'fails') pace.failed(name)
  }

  /** Takes room at an address for an attempt. Who comes new does so behind those who wait for it, for they take turns. */
  function takeRoom(mine: Held, name: string): boolean {
    const isPromised = mine.room?.name === name
    if (mine.room?.name === name && mine.room.state !== 'late') {
      mine.room.state = 'there'
      return true
    }
    const { name: destination, podId } = mine.stay
    const { concurrency } = parts.allowanceOf(destination)
    if (providers.get(name) === undefined && concurrency > parts.allowanceOf(name).concurrency) {
      providers.note(name, destination)
      pace.forget(name)
    }
    const isBehind = !isPromised && stays.hasLine(name)
    if (isBehind || !hasRoom(name, podId)) return false
    if (mine.room !== undefined) stays.leave(mine.room)
    if (waited.get(destination) !== name) waited.forget(destination)
    mine.room = stays.come(name, podId, 'there')
    pace.began(name)
    return true
  }

  /** See `roomless`. Who was promised room at an address goes before one at its destination that has none anywhere. */
  function goBefore({ stay: { name: from, state, podId } }: Held, name: string): boolean {
    if (!isRoomAt(from) || state === 'late') return false
    const isBelowShare = (stays.ofPod.get(podAt(name, podId)) ?? 0) < share(name, podId)
    const other = roomless(held.values(), name, isBelowShare ? undefined : podId)
    if (other === undefined) return false
    if (other.state === 'coming') pace.returned(name)
    stays.goOn(other)
    return true
  }

  function begin({ begun, filled, looked }: Looked): void {
    stays.looked({ looked, filled })
    for (const { entry, sort, isUnnoted } of begun) {
      const { destination } = entry
      const states = { isLateProbe: false, isLingering: false, hasShown: false }
      const at = { stay: stays.come(destination, entry.podId), room: undefined }
      // Who waits on purpose before it greets is met again among what is repeated, which has a part of the places.
      const patience = new Patience(clock, sort.isRetry ? limits.silentAnswerMs : limits.silentGreetingMs)
      held.set(entry.id, { sort, ...at, isUnnoted, ...states, patience })
      places.count(entry.podId, sort, 1)
      pace.began(destination)
    }
  }

  /**
   * RFC 5321 §4.5.3.2.6 gives the answer to the final dot ten minutes, for to break off would double the mail. Who takes more
   * than seconds of them keeps no place from others, as many as there are places; and counts as one who may hang.
   */
  function giveUpPlace(mine: Held): boolean {
    if (mine.isLingering || lingering >= places.bounds.total) return false
    mine.isLingering = true
    lingering++
    places.count(mine.stay.podId, mine.sort, -1)
    return true
  }

  /** Of those that are only to be recorded few pass their places on, no more than the destination gets: a kill would repeat them. */
  function passOn(mine: Held, freed: () => void): void {
    const { stay, sort } = mine
    const passed = [...held.values()].filter(one => one.isLingering && one.stay.name === stay.name).length
    const most = Math.min(limits.paceFirst, pace.concurrency(stay.name))
    if (sort.isProbe || passed >= most || !giveUpPlace(mine)) return
    stays.leave(stay)
    freed()
  }

  /** While new mail waits, who says nothing for too long gives up the place; a probe does not, for it is to find out. */
  function press(waiting: Looked['pressing']): void {
    clearTimeout(pressing)
    pressing = undefined
    if (waiting.all === 'nothing' && waiting.pods.size === 0) return
    for (const mine of held.values()) {
      const { sort, stay, patience } = mine
      const awaited = [waiting.all, waiting.pods.get(stay.podId)]
      const isWanted = awaited.includes('anything') || (sort.isUnproven && awaited.includes('unproven'))
      if (!sort.isProbe && isWanted) patience.endIfSilent()
      else if (sort.isUnproven && awaited.includes('repeated')) patience.endIfSilent(limits.silentAnswerMs)
      if (patience.isLingering() && giveUpPlace(mine)) proven.forget(stay.name)
    }
    pressing = setTimeout(() => press(waiting), limits.silenceLookMs).unref()
  }

  return {
    async claim() {
      for (;;) {
        const now = clock.now()
        await passLate()
        if (places.free <= 0) {
          press(pressAll((await hasFirstAttempt(store.read, kind, 'ready')) ? 'anything' : 'nothing'))
          if (places.free <= 0) return []
        }
        const waiting = await findWaiting(store.read, kind, now.toISOString())
        places.isShared = waiting.isShared
        if (!isWorthALook(waiting, places, stays.freed)) {
          const before = lingering
          const again = waiting.unprovenAgain ? 'repeated' : 'nothing'
          press(pressAll(waiting.unproven ? 'unproven' : again))
          if (lingering > before) continue
          return []
        }
        // No fsync: a lease that is lost with the power is one that nobody holds any more.
        const look = await store.writeUnsynced(db =>
          lookOnce(db, now, {
            places,
            perDestination: stays.all,
            ofPod: stays.ofPod,
            freed: stays.freed,
            waiting,
          }),
        )
        begin(look)
        press(look.pressing)
        // All that was looked at had to be set aside; more may be due behind it.
        if (look.begun.length > 0 || look.setAside === 0) return look.begun.map(({ entry }) => entry)
      }
    },

    async end({ id }) {
      const { sort, stay, room: had, isLingering, hasShown } = held.get(id)!
      held.delete(id)
      if (isLingering) lingering--
      else places.count(stay.podId, sort, -1)
      stays.leave(stay)
      if (had !== undefined) stays.leave(had)
      // It has found out nothing about who fails, for its own domain or mailbox ended it: another one is to.
      if (sort.isProbe && !hasShown) await store.write(db => probeNow(db, clock, stay.name))
    },

    placeOf({ id, leasedBy }, freed = () => {}) {
      const mine = held.get(id)!
      const { patience } = mine
      return {
        signal: patience.signal,
        heard: () => patience.heard(),
        commit() {
          if (!members.holds(leasedBy)) throw new LeaseLost()
          patience.commit()
        },
        get destination() {
          return mine.stay.name
        },
        get isCutShort() {
          return patience.isCutShort
        },
        get isClean() {
          // Of what other attempts found meanwhile, this process has forgotten that it answers.
          return mine.isUnnoted && proven.get(mine.stay.name) === true
        },
        async isTurnOf(name, domain) {
          if (name === domain) groups.forget(domain)
          else {
            groups.note(domain, name)
            stays.lead(domain, name)
          }
          const { stay: before } = mine
          if (name === before.name && before.state !== 'late') {
            before.state = 'there'
            return true
          }
          if (mine.sort.isProbe) await store.write(db => leadElsewhere(db, clock, before.name))
          mine.hasShown ||= mine.sort.isProbe
          const row = await findDestination(store.read, name)
          // A probe that was late is one again where nobody else is: to find out may take longer than a place is kept.
          const isProbe =
            row?.isFailing === 1 && mine.isLateProbe && name === before.name && !isAnybodyAt(name)
          if (row?.isFailing === 1 && !isProbe) return false
          const sort = { isRetry: mine.sort.isRetry, isProbe, isUnproven: proven.get(name) === undefined }
          // What led to servers that answer, and leads to others by now, has no more places there than what is new.
          if (!isProbe && !places.mayChange(before.podId, mine.sort, sort)) return false
          if (!isProbe && !hasRoom(name, before.podId) && !goBefore(mine, name)) return false
          // The room at an address that it was promised stays its own.
          if (isRoomAt(before.name)) {
            waited.note(name, before.name)
            mine.room = before
          } else {
            if (before.state === 'coming') pace.returned(before.name)
            stays.goOn(before)
          }
          mine.stay = stays.come(name, before.podId, 'there')
          pace.began(name)
          mine.isUnnoted = row === undefined
          resort(mine, sort)
          if (isProbe) await store.write(db => putDestination(db, probed(row, clock.now())))
          return true
        },
        // Who had to let another go before has no part at its destination any more.
        hasRoomAt: address => mine.stay.state !== 'late' && takeRoom(mine, roomAt(address)),
        gone(address, showing, isLost) {
          const name = roomAt(address)
          // What it was told whole may come again: of a host that hangs up no more is at stake than at the beginning.
          if (isLost)
            for (const one of [name, mine.stay.name]) {
              proven.forget(one)
              pace.failed(one)
            }
          if (mine.room?.name === name) {
            stays.leave(mine.room)
            mine.room = undefined
          }
          // What the servers say holds for their address, whatever names lead there.
          if (showing !== undefined) show(name, showing)
        },
        over: () => passOn(mine, freed),
        passedOver() {
          mine.hasShown = true
          proven.forget(mine.stay.name)
        },
        showed(showing) {
          mine.hasShown = true
          show(mine.stay.name, showing)
        },
      }
    },
  }
}
