import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../lib/base/clock.ts'
import { limits } from '../../lib/base/limits.ts'
import { nextAttemptAfterMs } from '../../lib/queue/backoff.ts'
import type { FairTurns } from '../../lib/queue/fair-turns.ts'
import type { Leased, Turns } from '../../lib/queue/leased.ts'
import { type Allowance, Pace } from '../../lib/queue/pace.ts'
import { Places, roomAt, type Sort } from '../../lib/queue/places.ts'
import { createQueue, type Queue } from '../../lib/queue/queue.ts'
import type { Showing } from '../../lib/queue/standing.ts'
import { createTurnsInOrder } from '../../lib/queue/turns.ts'
import { openStore, type Store } from '../../lib/store/open.ts'
import { type Facts, sameFacts } from '../support/kept-facts.ts'
import { membersOf } from '../support/members.ts'
import { makeMigratedFile } from '../support/migrated.ts'
import { insertInstallation, insertPodRow } from '../support/rows.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const startMs = Date.parse('2026-01-01T00:00:00.000Z')

/** Numbers in [0, 1) that are the same at each run. */
function numbersOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}

/**
 * A clock of the test's own, by which the queue also looks again at who is silent: no fact may hang on how long the machine takes.
 */
class OwnClock implements Clock {
  #ms = startMs
  readonly #timers = new Map<object, { atMs: number; call: () => void }>()

  now() {
    return new Date(this.#ms)
  }

  monotonicMs() {
    return this.#ms
  }

  /** Takes the timers of the queue's look for silence from now on; gives what leaves them to the system again. */
  takeTimers(): () => void {
    const { setTimeout: later, clearTimeout: forget } = globalThis
    const own = (call: () => void, ms?: number, ...more: unknown[]) => {
      if (ms !== limits.silenceLookMs) return Reflect.apply(later, globalThis, [call, ms, ...more])
      const timer = { unref: () => timer }
      this.#timers.set(timer, { atMs: this.#ms + ms, call })
      return timer
    }
    const forgetOwn = (timer: Parameters<typeof forget>[0]) => {
      if (typeof timer === 'object' && this.#timers.delete(timer)) return
      forget(timer)
    }
    Object.assign(globalThis, { setTimeout: own, clearTimeout: forgetOwn })
    return () => Object.assign(globalThis, { setTimeout: later, clearTimeout: forget })
  }

  advance(ms: number) {
    const untilMs = this.#ms + ms
    for (;;) {
      const next = [...this.#timers].sort(([, one], [, other]) => one.atMs - other.atMs)[0]
      if (next === undefined || next[1].atMs > untilMs) break
      this.#timers.delete(next[0])
      this.#ms = Math.max(this.#ms, next[1].atMs)
      next[1].call()
    }
    this.#ms = untilMs
  }
}

/** What the servers of a domain do. */
interface Servers {
  readonly group?: string
  readonly address?: string
  readonly does:
    | 'take'
    | 'refuse for now'
    | 'slow'
    | 'fail'
    | 'say nothing'
    | 'keep the answer'
    | 'hang up'
    | 'are none'
    | 'are not tried'
}

interface Attempt {
  readonly entry: Leased
  readonly domain: string
  readonly turns: Turns
  state: 'begun' | 'silent' | 'committed'
  isGivenUp: boolean
}

/** A queue with a history, and the lines of it. */
class World {
  readonly clock = new OwnClock()
  readonly lines: string[] = []
  readonly underWay = new Map<string, Attempt>()
  readonly servers = new Map<string, Servers>()
  readonly store: Store
  readonly #random: () => number
  readonly #domains = new Map<string, string>()
  readonly #gone = new Set<string>()
  #made = 0
  #starts = 0
  queue!: Queue
  turns!: FairTurns
  readonly #concurrency: number
  readonly #allowanceOf: (name: string) => Allowance

  constructor(
    store: Store,
    concurrency: number,
    allowanceOf: (name: string) => Allowance,
    random: () => number = () => 0.5,
  ) {
    this.store = store
    this.#random = random
    this.#concurrency = concurrency
    this.#allowanceOf = allowanceOf
    this.start()
  }

  /** A new process of the same node: what it had in memory is lost. */
  start(): void {
    this.underWay.clear()
    this.queue = createQueue({
      store: this.store,
      clock: this.clock,
      ids: { next: () => `id-${String(++this.#made).padStart(6, '0')}` },
      members: membersOf('node', ++this.#starts, this.#gone),
      random: this.#random,
      waits: { webhook: [5_000, 30_000] },
    })
    this.turns = this.queue.fairTurns({ concurrency: this.#concurrency, allowanceOf: this.#allowanceOf })
  }

  async restart(): Promise<void> {
    this.start()
    this.say(`started anew, freed ${await this.queue.recover()}`)
  }

  say(line: string): void {
    this.lines.push(`${(this.clock.monotonicMs() - startMs) / 1000} s: ${line}`)
  }

  put(
    count: number,
    from: string,
    domain: string,
    more: { dueAt?: string; expiresAt?: string; kind?: 'delivery' | 'webhook' | 'draft' } = {},
  ): Promise<string[]> {
    const [podId = '', inboxId = ''] = from.split('/')
    const names = Array.from({ length: count }, () => `${inboxId}${++this.#made}`)
    for (const name of names) this.#domains.set(name, domain)
    const expiresAt = new Date(this.clock.monotonicMs() + 5 * 86_400_000).toISOString()
    const work = names.map(subjectId => ({
      kind: 'delivery' as const,
      subjectId,
      destination: domain,
      podId,
      inboxId,
      expiresAt,
      ...more,
    }))
    this.say(`put ${names[0]}${count > 1 ? ` to ${names.at(-1)}` : ''} of ${from} for ${domain}`)
    return this.store.writeUnsynced(db => this.queue.put(db, work)).then(() => names)
  }

  async claim(turns: Turns = this.turns): Promise<Leased[]> {
    const claimed = await turns.claim()
    for (const entry of claimed) {
      const domain = this.#domains.get(entry.subjectId)!
      const attempt: Attempt = { entry, domain, turns, state: 'begun', isGivenUp: false }
      this.underWay.set(entry.subjectId, attempt)
      if (turns !== this.turns) continue
      const { signal } = this.turns.placeOf(entry)
      signal.addEventListener('abort', () => {
        attempt.isGivenUp = true
        this.say(`${entry.subjectId} is given up: ${signal.reason.message}`)
      })
    }
    const shown = claimed.map(({ subjectId, destination, attempts, cutOffs }) => {
      const at = destination === this.#domains.get(subjectId) ? '' : ` at ${destination}`
      return `${subjectId}${at}${attempts > 1 ? ` #${attempts}` : ''}${cutOffs > 0 ? `-${cutOffs}` : ''}`
    })
    this.say(`claimed ${shown.join(', ') || 'nothing'}`)
    return claimed
  }

  /** The attempt goes on as the servers of its domain do. */
  async goOn(name: string): Promise<void> {
    const attempt = this.underWay.get(name)!
    const { entry, domain } = attempt
    const place = this.turns.placeOf(entry)
    const { group, address, does } = this.servers.get(domain) ?? { does: 'take' }
    if (attempt.isGivenUp) return this.#giveUp(attempt)
    if (attempt.state === 'begun') {
      if (does === 'are none') return this.#end(attempt, 'none', undefined)
      if (!(await place.isTurnOf(group ?? domain, domain)))
        return this.#end(attempt, 'not its turn', undefined, domain)
      if (address !== undefined && !place.hasRoomAt(address))
        return this.#end(attempt, 'no room', undefined, roomAt(address))
    }
    if (does === 'say nothing') {
      attempt.state = 'silent'
      return
    }
    if (does === 'are not tried') {
      await this.store.writeUnsynced(async db => {
        await this.queue.postpone(db, place.destination, 20_000, 'not tried')
        await this.queue.later(db, { ...entry, destination: place.destination }, { atLeastMs: 20_000 })
      })
      place.passedOver()
      return this.#over(attempt, 'not tried')
    }
    if (does !== 'fail') place.heard()
    if (does === 'keep the answer' && attempt.state !== 'committed') {
      place.commit()
      attempt.state = 'committed'
      return
    }
    const shows = { slow: 'slows', fail: 'fails', 'hang up': undefined }[does as 'slow'] ?? 'answers'
    const showing = does === 'hang up' ? undefined : (shows as Showing)
    if (address !== undefined) place.gone(address, showing, does === 'hang up')
    if (does === 'take' || does === 'keep the answer') {
      if (attempt.state !== 'committed') place.commit()
      place.over()
    }
    return this.#end(attempt, does, showing)
  }

  async #giveUp(attempt: Attempt): Promise<void> {
    const { entry } = attempt
    const place = this.turns.placeOf(entry)
    const { destination } = place
    if (!place.isCutShort) return this.#end(attempt, 'was silent', 'fails')
    await this.store.writeUnsynced(db =>
      this.queue.later(db, { ...entry, destination }, limits.cutShortWaitMs),
    )
    return this.#over(attempt, 'cut short')
  }

  async #end(attempt: Attempt, how: string, showing: Showing | undefined, back?: string): Promise<void> {
    const { entry } = attempt
    const place = this.turns.placeOf(entry)
    const { destination, isClean } = place
    if (showing === 'fails') place.showed('fails')
    let dueAt: string | undefined
    await this.store.writeUnsynced(async db => {
      if (showing !== undefined && !(isClean && showing !== 'fails'))
        await this.queue.note(db, destination, showing, how)
      if (back !== undefined) await this.queue.giveBack(db, { ...entry, destination: back })
      else if (['take', 'keep the answer', 'none'].includes(how)) await this.queue.done(db, entry)
      else dueAt = await this.queue.later(db, { ...entry, destination })
    })
    if (showing !== undefined && showing !== 'fails') place.showed(showing)
    const at = destination === attempt.domain ? '' : ` at ${destination}`
    return this.#over(
      attempt,
      `${how}${at}${isClean ? ', clean' : ''}${dueAt ? `, then ${since(dueAt)}` : ''}`,
    )
  }

  async #over({ entry, turns }: Attempt, how: string): Promise<void> {
    await turns.end(entry)
    this.underWay.delete(entry.subjectId)
    this.say(`${entry.subjectId}: ${how}`)
  }

  /** All that is under way goes on. */
  async goOnAll(): Promise<void> {
    for (const name of [...this.underWay.keys()]) await this.goOn(name)
  }

  /** Rows as they stand. */
  async standing(): Promise<void> {
    const rows = await this.store.read.selectFrom('destination').selectAll().orderBy('name').execute()
    for (const { name, failures, isFailing, failingSince, lastFailure, probeAt, lookAt } of rows) {
      const times = { since: failingSince, probe: probeAt, look: lookAt }
      const shown = Object.entries(times).map(([what, at]) => at && `${what} ${since(at)}`)
      const so = [failures, isFailing ? 'failing' : '', lastFailure ?? '', ...shown]
      this.say(`row ${name}: ${so.filter(one => one !== '' && one !== null).join(', ')}`)
    }
    const entries = await this.store.read.selectFrom('queueEntry').selectAll().orderBy('id').execute()
    const of = (entry: (typeof entries)[number]) =>
      `${entry.leasedBy === null ? entry.state : 'leased'} for ${entry.destination}`
    for (const [what, some] of [...Map.groupBy(entries, of)].sort(([one], [other]) => (one < other ? -1 : 1)))
      this.say(`${what}: ${some.length}, the first ${some[0]!.subjectId} due ${since(some[0]!.dueAt)}`)
  }
}

const since = (at: string) => `${(Date.parse(at) - startMs) / 1000} s`

/** A new database, of so many pods. */
async function newStore(t: Test, pods: number): Promise<Store> {
  const path = join(temporaryDir(t), 'test.sqlite')
  await makeMigratedFile(path)
  const store = await openStore(path, systemClock)
  t.teardown(() => store.close())
  await store.write(async db => {
    await insertInstallation(db)
    for (let n = 1; n < pods; n++) await insertPodRow(db)
  })
  return store
}

interface Given {
  readonly concurrency?: number
  readonly pods?: number
  readonly allowanceOf?: (name: string) => Allowance
  readonly random?: () => number
}

async function historyOf(
  t: Test,
  { concurrency = 8, pods = 1, allowanceOf = () => ({ concurrency: 100, perMinute: 0 }), random }: Given,
  happens: (world: World) => Promise<void>,
): Promise<string[]> {
  const world = new World(await newStore(t, pods), concurrency, allowanceOf, random)
  const leave = world.clock.takeTimers()
  try {
    await happens(world)
    await world.standing()
  } finally {
    leave()
  }
  return world.lines
}

const behaviours = [
  'take',
  'refuse for now',
  'slow',
  'fail',
  'say nothing',
  'keep the answer',
  'hang up',
] as const

/** Everything at once, as chance has it. */
async function mixed(world: World, chance: () => number, steps: number): Promise<void> {
  const pick = <T>(all: readonly T[]) => all[Math.floor(chance() * all.length)]!
  const domains = ['a.example', 'b.example', 'c.example', 'd.example', 'e.example', 'f.example']
  const inboxes = ['one/ann', 'one/bea', 'two/carl', 'two/dan', 'three/eve']
  const change = () => {
    const domain = pick(domains)
    const where = pick([
      {},
      {},
      { address: '192.0.2.1' },
      { group: 'mx:g', address: '192.0.2.1' },
      { group: 'mx:g', address: '192.0.2.2' },
      { group: 'mx:h' },
    ])
    world.servers.set(domain, { ...where, does: pick([...behaviours, 'are none', 'are not tried', 'take']) })
  }
  for (const _ of domains) change()
  const put: string[] = []
  for (let step = 0; step < steps; step++) {
    const what = chance()
    if (what < 0.3) put.push(...(await world.put(1 + Math.floor(chance() * 8), pick(inboxes), pick(domains))))
    else if (what < 0.45) world.clock.advance(pick([1, 500, 1_000, 2_000, 3_000, 11_000]))
    else if (what < 0.55) world.clock.advance(pick([30_000, 61_000, 600_000, 3_600_000]))
    else if (what < 0.62) change()
    else if (what < 0.65 && put.length > 0) {
      const name = pick(put)
      const isHeld = await world.store.writeUnsynced(db => world.queue.hold(db, name))
      world.say(`${name} is ${isHeld ? '' : 'not '}held`)
      if (isHeld && chance() < 0.5) {
        const at = new Date(world.clock.monotonicMs() + 86_400_000).toISOString()
        const due = await world.store.writeUnsynced(db => world.queue.release(db, name, at))
        world.say(`${name} is released, due ${due && since(due)}`)
      }
    } else if (what < 0.67 && put.length > 0) {
      const name = pick(put)
      if (!world.underWay.has(name)) {
        await world.store.writeUnsynced(db => world.queue.drop(db, name))
        world.say(`${name} is dropped`)
      }
    } else if (what < 0.68) await world.restart()
    await world.claim()
    for (const name of [...world.underWay.keys()]) if (chance() < 0.6) await world.goOn(name)
  }
}

t.test('as chance has it', async t => {
  const facts: Facts[] = []
  for (let seed = 1; seed <= 6; seed++) {
    const chance = numbersOf(seed)
    const given: Given = {
      concurrency: [8, 5, 12, 20, 3, 40][seed - 1]!,
      pods: seed % 2 === 0 ? 3 : 1,
      allowanceOf: name => ({
        concurrency: name === 'a.example' ? 2 : 6,
        perMinute: name === 'b.example' ? 30 : 0,
        ...(seed > 3 && { first: 2 }),
      }),
      random: numbersOf(seed + 100),
    }
    facts.push([`history ${seed}`, await historyOf(t, given, world => mixed(world, chance, 60))])
  }
  sameFacts(t, 'queue-histories', facts)
})

/** Claims and has all go on, so many times, each so long after the other. */
async function rounds(world: World, count: number, ms: number): Promise<void> {
  for (let round = 0; round < count; round++) {
    await world.claim()
    await world.goOnAll()
    world.clock.advance(ms)
  }
}

const few = { allowanceOf: () => ({ concurrency: 2, perMinute: 0 }) }

const scenes: Readonly<Record<string, readonly [Given, (world: World) => Promise<void>]>> = {
  'pods and inboxes in turns, many of each': [
    { concurrency: 5, pods: 6 },
    async world => {
      for (const from of ['p1/ann', 'p1/bea', 'p1/cid', 'p2/dan', 'p3/eve', 'p3/fay', 'p5/gus'])
        await world.put(from === 'p1/bea' ? 40 : 12, from, 'good.example')
      await rounds(world, 18, 0)
      await world.put(3, 'p4/hal', 'good.example')
      await rounds(world, 14, 0)
    },
  ],
  'what is repeated, in turns of pods': [
    { concurrency: 8, pods: 3 },
    async world => {
      world.servers.set('busy.example', { does: 'refuse for now' })
      for (const from of ['p1/ann', 'p2/bea', 'p3/cid'])
        await world.put(from === 'p1/ann' ? 30 : 8, from, 'busy.example')
      await rounds(world, 8, 0)
      world.clock.advance(70_000)
      await world.put(4, 'p2/new', 'good.example')
      await rounds(world, 12, 1_000)
    },
  ],
  'one that fails': [
    {},
    async world => {
      world.servers.set('down.example', { does: 'fail' })
      await world.put(20, 'p1/ann', 'down.example')
      await rounds(world, 3, 0)
      await world.standing()
      await rounds(world, 12, 20_000)
      await world.standing()
      await rounds(world, 8, 900_000)
      world.servers.set('down.example', { does: 'take' })
      await rounds(world, 8, 900_000)
    },
  ],
  'ten that fail, beside one that answers': [
    { concurrency: 8 },
    async world => {
      for (let n = 0; n < 10; n++) {
        world.servers.set(`down${n}.example`, { does: 'fail' })
        await world.put(5, 'p1/ann', `down${n}.example`)
      }
      await world.put(6, 'p1/bea', 'good.example')
      await rounds(world, 12, 500)
      await world.standing()
      world.clock.advance(60_000)
      await rounds(world, 8, 500)
    },
  ],
  'one that slows, and gets faster again': [
    { concurrency: 20, allowanceOf: () => ({ concurrency: 8, perMinute: 0, first: 4 }) },
    async world => {
      await world.put(100, 'p1/ann', 'there.example')
      await rounds(world, 5, 0)
      world.servers.set('there.example', { does: 'slow' })
      await rounds(world, 3, 0)
      world.servers.set('there.example', { does: 'take' })
      await rounds(world, 10, 0)
    },
  ],
  'one that fails once, after it had got more at once': [
    { concurrency: 20, allowanceOf: () => ({ concurrency: 8, perMinute: 0, first: 2 }) },
    async world => {
      await world.put(60, 'p1/ann', 'there.example')
      await rounds(world, 4, 0)
      const [first] = await world.claim()
      world.servers.set('there.example', { does: 'fail' })
      await world.goOn(first!.subjectId)
      world.servers.set('there.example', { does: 'take' })
      await rounds(world, 5, 0)
    },
  ],
  'so many a minute': [
    { concurrency: 20, allowanceOf: () => ({ concurrency: 20, perMinute: 24 }) },
    async world => {
      await world.put(20, 'p1/ann', 'there.example')
      await rounds(world, 12, 1_250)
      world.clock.advance(60_000)
      await rounds(world, 4, 2_499)
    },
  ],
  'silent servers, and new mail': [
    { concurrency: 4 },
    async world => {
      world.servers.set('mute.example', { does: 'say nothing' })
      await world.put(1, 'p1/ann', 'good.example')
      await rounds(world, 1, 0)
      await world.put(6, 'p1/ann', 'mute.example')
      await rounds(world, 1, 999)
      await rounds(world, 1, 1)
      await rounds(world, 2, 600)
      await world.put(9, 'p1/bea', 'good.example')
      await rounds(world, 5, 500)
      await rounds(world, 6, 4_000)
    },
  ],
  'who was tried before may be silent for longer': [
    { concurrency: 4 },
    async world => {
      world.servers.set('mute.example', { does: 'refuse for now' })
      await world.put(6, 'p1/ann', 'mute.example')
      await rounds(world, 3, 0)
      world.clock.advance(70_000)
      world.servers.set('mute.example', { does: 'say nothing' })
      await rounds(world, 2, 1_500)
      await world.put(6, 'p1/bea', 'other.example')
      await rounds(world, 8, 1_600)
    },
  ],
  'those who keep the answer to the final dot': [
    { concurrency: 3, ...few },
    async world => {
      world.servers.set('slow.example', { does: 'keep the answer' })
      await world.put(7, 'p1/ann', 'slow.example')
      await world.claim()
      for (const name of [...world.underWay.keys()]) await world.goOn(name)
      await world.put(4, 'p1/bea', 'good.example')
      for (let n = 0; n < 6; n++) {
        await world.claim()
        for (const [name, { domain }] of [...world.underWay])
          if (domain === 'good.example') await world.goOn(name)
        world.clock.advance(3_000)
      }
      await rounds(world, 5, 3_000)
    },
  ],
  'domains that lead to one group, and one address': [
    { concurrency: 12, pods: 2, allowanceOf: () => ({ concurrency: 3, perMinute: 0 }) },
    async world => {
      for (const name of ['a', 'b', 'c'])
        world.servers.set(`${name}.example`, { group: 'mx:g', address: '192.0.2.1', does: 'take' })
      world.servers.set('d.example', { group: 'mx:h', address: '192.0.2.1', does: 'take' })
      for (const [index, name] of ['a', 'b', 'c', 'd'].entries())
        await world.put(6, index % 2 ? 'p2/bea' : 'p1/ann', `${name}.example`)
      await rounds(world, 6, 100)
      for (const name of ['a', 'd']) world.servers.set(`${name}.example`, { does: 'fail' })
      await rounds(world, 6, 100)
    },
  ],
  'one address, and a line for it': [
    {
      concurrency: 20,
      pods: 2,
      allowanceOf: name => ({ concurrency: name.includes(':') ? 2 : 6, perMinute: 0 }),
    },
    async world => {
      const address = '192.0.2.1'
      world.servers.set('a.example', { group: 'mx:a', address, does: 'keep the answer' })
      world.servers.set('b.example', { group: 'mx:b', address, does: 'take' })
      await world.put(2, 'p1/ann', 'a.example')
      await rounds(world, 1, 10)
      await world.put(3, 'p2/bea', 'b.example')
      const [first, second] = await world.claim()
      await world.goOn(first!.subjectId)
      await world.claim()
      await world.standing()
      const [one] = world.underWay.keys()
      await world.goOn(one!)
      await world.goOn(second!.subjectId)
      await rounds(world, 8, 1_000)
    },
  ],
  'what is taken, and only to be recorded': [
    { concurrency: 30, allowanceOf: () => ({ concurrency: 8, perMinute: 0 }) },
    async world => {
      await world.put(1, 'p1/ann', 'there.example')
      await rounds(world, 1, 0)
      await world.put(40, 'p1/ann', 'there.example')
      await world.claim()
      for (const { entry } of world.underWay.values())
        world.turns.placeOf(entry, () => world.say(`${entry.subjectId} leaves its place`)).over()
      await world.claim()
      await rounds(world, 3, 0)
    },
  ],
  'what is repeated where a pod has enough': [
    {
      concurrency: 8,
      pods: 3,
      allowanceOf: name => ({ concurrency: name === 'there.example' ? 2 : 10, perMinute: 0 }),
    },
    async world => {
      for (const name of ['slow.example', 'there.example'])
        world.servers.set(name, { does: 'refuse for now' })
      await world.put(6, 'p1/ann', 'slow.example')
      await world.put(20, 'p1/bea', 'there.example')
      await world.put(3, 'p2/cid', 'there.example')
      await rounds(world, 16, 0)
      world.clock.advance(70_000)
      world.servers.set('slow.example', { does: 'say nothing' })
      for (let n = 0; n < 12; n++) {
        await world.claim()
        for (const [name, { domain }] of [...world.underWay])
          if (domain === 'slow.example' || n % 2 === 1) await world.goOn(name)
        world.clock.advance(500)
      }
    },
  ],
  'who is late, and comes': [
    { concurrency: 8, allowanceOf: () => ({ concurrency: 2, perMinute: 0 }) },
    async world => {
      world.servers.set('a.example', { group: 'mx:g', does: 'take' })
      await world.put(2, 'p1/ann', 'a.example')
      await rounds(world, 1, 0)
      await world.put(6, 'p1/ann', 'a.example')
      await world.claim()
      for (const ms of [1_999, 1, 1]) {
        world.clock.advance(ms)
        await world.claim()
      }
      await rounds(world, 6, 10)
    },
  ],
  'a probe that leads elsewhere, is none, is not tried, or is late': [
    {},
    async world => {
      for (const [n, does] of (['are none', 'are not tried', 'say nothing', 'take'] as const).entries()) {
        const domain = `down${n}.example`
        world.servers.set(domain, { group: `mx:${n}`, does: 'fail' })
        await world.put(9, 'p1/ann', domain)
        await rounds(world, 3, 0)
        await world.standing()
        world.servers.set(domain, { ...(does !== 'take' && { group: `mx:${n}` }), does })
        world.clock.advance(70_000)
        await world.claim()
        world.clock.advance(2_500)
        await world.claim()
        await rounds(world, 5, 6_000)
      }
    },
  ],
  'what is parked until its time is over': [
    few,
    async world => {
      const expiresAt = new Date(startMs + 50_000).toISOString()
      world.servers.set('down.example', { does: 'fail' })
      await world.put(8, 'p1/ann', 'down.example', { expiresAt })
      await rounds(world, 4, 0)
      world.clock.advance(49_999)
      await rounds(world, 1, 1)
      await rounds(world, 4, 1)
    },
  ],
  'a pod leaves places to others': [
    { concurrency: 20, pods: 3 },
    async world => {
      world.servers.set('slow.example', { does: 'say nothing' })
      await world.put(1, 'p1/ann', 'known.example')
      await rounds(world, 1, 0)
      await world.put(40, 'p1/ann', 'known.example')
      await world.put(40, 'p1/ann', 'slow.example')
      await world.claim()
      await world.put(5, 'p2/bea', 'known.example')
      await world.put(5, 'p2/bea', 'other.example')
      await world.claim()
      await rounds(world, 4, 1_100)
    },
  ],
  'what is hurried, held and cut off': [
    {},
    async world => {
      world.servers.set('down.example', { does: 'fail' })
      const [first] = await world.put(6, 'p1/ann', 'down.example')
      await rounds(world, 2, 0)
      await world.standing()
      const rows = await world.store.read.selectFrom('queueEntry').selectAll().orderBy('id').execute()
      await world.store.writeUnsynced(db => world.queue.hurry(db, rows[0]!))
      world.say(`${first} is hurried`)
      await rounds(world, 2, 500)
      await world.put(3, 'p1/bea', 'good.example')
      const claimed = await world.claim()
      await world.restart()
      await world.claim()
      await world.restart()
      await world.claim()
      world.clock.advance(60_000)
      await world.claim()
      const [one, two] = [...world.underWay.values()]
      if (one && two) {
        await world.store.writeUnsynced(db => world.queue.cutOff(db, one.entry))
        await world.turns.end(one.entry)
        await world.store.writeUnsynced(db => world.queue.holdLeased(db, two.entry))
        await world.turns.end(two.entry)
        for (const { entry } of [one, two]) world.underWay.delete(entry.subjectId)
        world.say(`cut off ${one.entry.subjectId}, held ${two.entry.subjectId} of ${claimed.length}`)
      }
      world.say(`forgotten ${await world.queue.freeForgotten('delivery', new Set())}`)
      await world.standing()
    },
  ],
  'in order, as far as there is room': [
    {},
    async world => {
      const inOrder = () =>
        createTurnsInOrder({
          queue: world.queue,
          kind: 'webhook',
          concurrency: 5,
          concurrencyPerDestination: name => (name === 'x' ? 1 : 3),
        })
      let turns = inOrder()
      const dueAt = new Date(startMs + 10_000).toISOString()
      await world.put(4, 'p1/x', 'x', { kind: 'webhook' })
      await world.put(6, 'p1/y', 'y', { kind: 'webhook' })
      await world.put(2, 'p1/z', 'z', { kind: 'webhook', dueAt })
      for (let n = 0; n < 10; n++) {
        await world.claim(turns)
        const [next, other] = [...world.underWay.values()]
        for (const one of [next, other]) {
          if (!one) continue
          const isOver = n % 3 !== 0
          if (isOver) await world.store.writeUnsynced(db => world.queue.done(db, one.entry))
          else await world.queue.retry(one.entry)
          await turns.end(one.entry)
          world.underWay.delete(one.entry.subjectId)
          world.say(`${one.entry.subjectId}: ${isOver ? 'done' : 'again'}`)
        }
        world.clock.advance(2_500)
        if (n === 4) {
          await world.restart()
          turns = inOrder()
        }
        if (n === 6) await world.standing()
      }
    },
  ],
  'drafts, in turns of pods': [
    {},
    async world => {
      const turns = world.queue.podTurns('draft', 3)
      for (const [count, from] of [
        [5, 'p1/ann'],
        [2, 'p1/bea'],
        [3, 'p2/cid'],
        [1, 'p3/dan'],
      ] as const)
        await world.put(count, from, 'draft', { kind: 'draft' })
      for (let n = 0; n < 24; n++) {
        await world.claim(turns)
        const one = [...world.underWay.values()][n % 2]
        if (one) {
          if (n % 4 === 3) await world.queue.retry(one.entry)
          else await world.store.writeUnsynced(db => world.queue.done(db, one.entry))
          await turns.end(one.entry)
          world.underWay.delete(one.entry.subjectId)
          world.say(`${one.entry.subjectId}: ${n % 4 === 3 ? 'again' : 'done'}`)
        }
        world.clock.advance(n === 6 ? limits.leaseMs : 20_000)
      }
    },
  ],
}

t.test('one thing after the other', async t => {
  const facts: Facts[] = []
  for (const [title, [given, happens]] of Object.entries(scenes))
    facts.push([title, await historyOf(t, given, happens)])
  sameFacts(t, 'queue-scenes', facts)
})

const sorts: Readonly<Record<string, Sort>> = Object.fromEntries(
  [0, 1, 2, 3, 4, 5, 6, 7].map(bits => {
    const sort = { isRetry: (bits & 1) > 0, isProbe: (bits & 2) > 0, isUnproven: (bits & 4) > 0 }
    return [
      `${sort.isRetry ? 'again' : 'first'}${sort.isProbe ? ' probe' : ''}${sort.isUnproven ? ' unproven' : ''}`,
      sort,
    ]
  }),
)

t.test('places, paces and waits', t => {
  const facts: Facts[] = []
  for (const total of [1, 2, 3, 4, 7, 10, 40])
    for (const isShared of [false, true]) {
      const said: string[] = []
      for (const [name, sort] of Object.entries(sorts)) {
        const places = new Places(total)
        places.isShared = isShared
        const has: Record<string, number> = { eve: 0, gus: 0, ann: 0 }
        for (const podId of Object.keys(has))
          for (; has[podId]! < total && places.hasFor(podId, sort); has[podId]!++)
            places.count(podId, sort, 1)
        const left = Object.entries(sorts).filter(([, other]) => places.has(other))
        const mine = Object.entries(sorts).filter(([, other]) => places.hasFor('eve', other))
        const may = Object.entries(sorts).filter(([, other]) => places.mayChange('eve', sort, other))
        const names = (some: typeof left) => some.map(([one]) => one).join(', ') || 'none'
        said.push(`${name}: ${Object.values(has).join(' ')}, free ${places.free}, has ${names(left)}`)
        said.push(`${name}: eve has ${names(mine)}; may become ${names(may)}`)
        const copy = places.copy()
        copy.count('eve', sort, -1)
        said.push(`${name}: ${places.free} and ${copy.free}, ${JSON.stringify(copy.taken)}`)
      }
      facts.push([`${total} places${isShared ? ', shared' : ''}`, said])
    }
  for (const allowance of [
    { concurrency: 1, perMinute: 0 },
    { concurrency: 8, perMinute: 0, first: 3 },
    { concurrency: 3, perMinute: 60, first: 8 },
    { concurrency: 10, perMinute: 5 },
    { concurrency: 10, perMinute: 120, first: 2 },
  ]) {
    const clock = new OwnClock()
    const pace = new Pace(clock, () => allowance)
    const chance = numbersOf(allowance.concurrency)
    const said: string[] = []
    const what = ['began', 'returned', 'slowDown', 'failed', 'answered', 'answered', 'began'] as const
    for (let n = 0; n < 40; n++) {
      const does = what[Math.floor(chance() * what.length)]!
      pace[does]('x')
      if (n % 5 === 4) clock.advance(700 * n)
      if (n === 30) pace.forget('x')
      said.push(
        `${does}: ${pace.concurrency('x')} at once, ${[0, 1, 5].map(now => pace.most('x', now)).join(' ')}`,
      )
    }
    facts.push([`pace of ${JSON.stringify(allowance)}`, said])
  }
  const waits: string[] = []
  for (const schedule of [undefined, [5, 30, 60], []])
    for (const bounds of [
      undefined,
      { atLeastMs: 40 },
      { atMostMs: 100_000 },
      { atLeastMs: 50, atMostMs: 20 },
    ])
      for (const jitter of [0, 0.5, 0.999])
        waits.push(
          `${schedule} ${JSON.stringify(bounds)} ${jitter}: ${[-1, 0, 1, 2, 3, 7, 8, 9, 1e9].map(made => nextAttemptAfterMs(made, jitter, schedule, bounds)).join(' ')}`,
        )
  facts.push(['waits', waits])
  sameFacts(t, 'queue-places', facts)
  t.end()
})
