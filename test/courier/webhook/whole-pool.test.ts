import t from 'tap'
import type { NotOpened } from '../../../lib/courier/guarded-connect.ts'
import type { WebhookConnection } from '../../../lib/courier/webhook/connection.ts'
import { WebhookPool } from '../../../lib/courier/webhook/pool.ts'
import { chanceOf } from '../../support/fuzz.ts'

const most = 4
const mostOfOrigin = 2
const origins = ['a', 'b', 'c', 'd', 'e']

/** A connection without a socket. */
class Wire {
  readonly origin: string
  readonly number: number
  readonly #closed: (connection: WebhookConnection) => void
  isOpen = true
  mayCarryMore = true

  constructor(origin: string, number: number, closed: (connection: WebhookConnection) => void) {
    this.origin = origin
    this.number = number
    this.#closed = closed
  }

  destroy(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.#closed(this as unknown as WebhookConnection)
  }
}

interface Call {
  readonly origin: string
  readonly number: number
  readonly isFresh: boolean
  readonly abort: AbortController
  state: 'waits' | 'opens' | 'has' | 'over'
  wire?: Wire
  /** Whether its connection could not be opened. */
  isRefused?: boolean
  /** Ends the opening of its connection, one way or another. */
  opened?: (how: 'well' | 'with an error' | 'with a fault') => void
}

/** Why a call has given up; undefined where it has not. */
const told = ({ aborted, reason }: AbortSignal) =>
  aborted ? ((reason as { message?: string }).message ?? reason) : undefined

/** Gives what is wrong after some step of calls that take connections, give them back and give up, by chance. */
async function play(seed: number): Promise<string[]> {
  const chance = chanceOf(seed)
  const wrong: string[] = []
  const steps: string[] = []
  const calls: Call[] = []
  const wires: Wire[] = []
  /** Those that wait for a call, as they came back. */
  let idle: Wire[] = []
  const asWire = (connection: WebhookConnection) => connection as unknown as Wire
  const pool = new WebhookPool({
    maxConnections: most,
    maxConnectionsPerOrigin: mostOfOrigin,
    mayReuse: connection => asWire(connection).mayCarryMore,
  })
  const settled = async () => {
    for (let turn = 0; turn < 3; turn++) await new Promise(resolve => setImmediate(resolve))
  }

  function take(origin: string, isFresh: boolean | undefined): void {
    const call: Call = {
      origin,
      number: calls.length,
      isFresh: isFresh === true,
      abort: new AbortController(),
      state: 'waits',
    }
    calls.push(call)
    const open = (onClosed: (connection: WebhookConnection) => void) => {
      call.state = 'opens'
      return new Promise<WebhookConnection | NotOpened>((resolve, reject) => {
        call.opened = how => {
          call.isRefused = how !== 'well'
          const wire = new Wire(origin, wires.length, onClosed)
          if (how === 'with an error') resolve({ error: 'refused' } as NotOpened)
          else if (how === 'with a fault') reject(new Error('a fault'))
          else {
            wires.push(wire)
            resolve(wire as unknown as WebhookConnection)
          }
        }
      })
    }
    const { signal } = call.abort
    const taken =
      isFresh === undefined ? pool.take(origin, open, signal) : pool.take(origin, open, signal, isFresh)
    taken.then(
      got => {
        if ('error' in got) {
          const why = call.isRefused ? 'refused' : `${told(call.abort.signal)}, all connections being busy`
          if (got.error !== why) wrong.push(`it was told ${got.error}`)
          call.state = 'over'
          return
        }
        const wire = asWire(got)
        const isNew = call.state === 'opens'
        if (calls.some(other => other.wire === wire && other.state === 'has')) wrong.push('two have one')
        if (wire.origin !== origin || !wire.isOpen) wrong.push('it leads elsewhere, or nowhere')
        if (!isNew && isFresh) wrong.push('it was to be a new one')
        if (!isNew && !wire.mayCarryMore) wrong.push('it may carry no more')
        const newest = idle.findLast(one => one.origin === origin && one.mayCarryMore)
        if (!isNew && wire !== newest) wrong.push('it is not the one that came back last')
        idle = idle.filter(one => one !== wire)
        call.wire = wire
        call.state = 'has'
      },
      (error: Error) => {
        if (error.message !== 'a fault' || !call.isRefused) wrong.push(`it failed: ${error.message}`)
        call.state = 'over'
      },
    )
  }

  const inState = (state: Call['state']) => calls.filter(call => call.state === state)
  const giveBack = () => {
    const having = inState('has')
    if (having.length === 0) return
    const call = chance.of(having)
    call.state = 'over'
    const wire = call.wire!
    if (chance.number(5) === 0) wire.mayCarryMore = false
    if (wire.isOpen) idle.push(wire)
    pool.give(wire as unknown as WebhookConnection)
  }
  const giveUp = () => {
    const waiting = inState('waits')
    if (waiting.length > 0) chance.of(waiting).abort.abort(chance.of([new Error('too late'), 'stopped']))
  }
  const takeOne = () => {
    const origin = chance.of([...origins, ...origins.slice(0, 2)])
    if (chance.number(3) > 0) take(origin, false)
    // Where nobody says so it may be one that was used.
    else take(origin, chance.of([true, undefined]))
  }
  const operations: readonly (readonly [string, () => void])[] = [
    [
      'end an opening',
      () => {
        const [call] = inState('opens')
        if (call) call.opened!(chance.of(['well', 'well', 'well', 'with an error', 'with a fault']))
      },
    ],
    ['take', takeOne],
    ['take', takeOne],
    ['give back', giveBack],
    [
      'give back and give up at once',
      () => {
        giveBack()
        giveUp()
      },
    ],
    [
      'lose',
      () => {
        const open = wires.filter(({ isOpen }) => isOpen)
        if (open.length > 0) chance.of(open).destroy()
      },
    ],
    ['give up', giveUp],
  ]
  const opening = (origin?: string) =>
    inState('opens').filter(call => origin === undefined || call.origin === origin).length
  const open = (origin?: string) =>
    wires.filter(one => one.isOpen && (origin === undefined || one.origin === origin)).length
  const openOf = (origin?: string) => open(origin) + opening(origin)

  for (let step = 0; step < 80 && wrong.length === 0; step++) {
    const [what, work] = chance.of(operations)
    steps.push(what)
    const before = [...idle]
    const waitedBefore = inState('waits')
    const hasOne = (origin: string) => before.some(one => one.origin === origin && one.mayCarryMore)
    work()
    await settled()
    const last = calls.at(-1)
    if (what === 'take' && last && !last.isFresh && hasOne(last.origin) && last.state !== 'has')
      wrong.push('there was one to be used again')
    const ended = idle.filter(wire => !wire.isOpen && wire.mayCarryMore)
    idle = idle.filter(({ isOpen }) => isOpen)
    if (openOf() > most) wrong.push('too many')
    for (const origin of origins) {
      if (openOf(origin) > mostOfOrigin) wrong.push(`too many to ${origin}`)
      const waiting = inState('waits').filter(call => call.origin === origin)
      if (waiting.length === 0) continue
      if (idle.some(wire => wire.origin === origin)) wrong.push(`one waits for ${origin}, and there is one`)
      if (openOf(origin) < mostOfOrigin && (openOf() < most || idle.length > 0))
        wrong.push(`one waits for ${origin}, and there is room`)
      const served = waitedBefore.find(
        call => call.origin === origin && (call.state === 'has' || call.state === 'opens'),
      )
      if (served && waiting.some(call => waitedBefore.includes(call) && call.number < served.number))
        wrong.push('another was first')
    }
    // One that may be used again ends alone for want of room, and then it is the one that waited longest.
    if (what === 'take') {
      const longest = before.find(wire => wire.origin !== last?.origin)
      if (ended.length > 1 || (ended.length === 1 && !last!.isFresh && ended[0] !== longest))
        wrong.push('another waited longer')
      if (ended.length > 0 && !last!.isFresh && openOf() < most) wrong.push('there was room')
    } else if (what === 'give back' && ended.length > 0 && waitedBefore.length === 0)
      wrong.push('it was ended')
    const { connections, origins: known } = pool.size
    if (connections !== openOf()) wrong.push(`it counts ${connections} for ${openOf()}`)
    const inUse = origins.filter(one => openOf(one) > 0)
    if (known !== inUse.length) wrong.push(`it knows ${known} origins of ${inUse.length}`)
    if (inState('waits').some(call => call.abort.signal.aborted)) wrong.push('who gave up waits on')
  }
  pool.close()
  await settled()
  if (wrong.length === 0 && idle.some(({ isOpen }) => isOpen)) wrong.push('one is left open')
  for (
    let left = 0;
    left < 200 && inState('waits').length + inState('opens').length + inState('has').length > 0;
    left++
  ) {
    for (const call of inState('opens')) call.opened!('well')
    for (const call of inState('has')) {
      call.state = 'over'
      pool.give(call.wire as unknown as WebhookConnection)
    }
    await settled()
  }
  const { connections, origins: known } = pool.size
  if (wrong.length === 0 && (connections !== 0 || known !== 0))
    wrong.push(`${connections} connections to ${known} origins are left`)
  return wrong.map(what => `seed ${seed}, step ${steps.length} (${steps.at(-1)}): ${what}`)
}

t.test('whatever comes, bounds hold, nobody waits while there is room, and nothing is left', async t => {
  const wrong: string[] = []
  for (let seed = 1; seed <= 120; seed++) wrong.push(...(await play(seed)))
  t.strictSame(wrong.slice(0, 5), [])
})
