import type { Log } from '../base/log.ts'
import type { Clock } from '../base/time.ts'
import { holdsNothing } from '../store/dialect/held.ts'
import type { Store } from '../store/open.ts'
import type { NodeHold } from '../store/postgres/hold.ts'
import { setBackSome, waitingColumns } from '../store/set-back.ts'
import { sweepRows } from '../store/sweeps.ts'

/** How often it is looked whether the clock was set back, and by how much it is to be. */
const clockLookMs = 2_000
const clockStepMs = 2_000

interface Watched {
  /** Other daemons put into the same queue by clocks of their own. */
  readonly nodes: { readonly count: number }
  readonly clock: Clock
  readonly log: Log
  readonly hold: Pick<NodeHold, 'requireHeld'> | undefined
  readonly store: Store
}

/**
 * Watches whether the clock of the machine is set back. What waits stands in rows as an instant, so it would wait for so much longer; it
 * is made to wait as long as it was to. When it is set forward, what waits is due earlier, which harms nothing. While the clock is not that of
 * the database's server nothing is put by it, so what it showed meanwhile is left out. Gives the function that ends it.
 */
export function startClockWatch(app: Watched): () => Promise<void> {
  const { clock, log } = app
  const stopping = new AbortController()
  /** What the clock shows beside the time that only goes forward. */
  const offset = () => clock.now().getTime() - clock.monotonicMs()
  let before = offset()
  let working: Promise<void> = Promise.resolve()
  const look = async () => {
    const isHeld = await app.hold?.requireHeld().then(
      () => true,
      () => false,
    )
    if (isHeld === false || stopping.signal.aborted) return
    const byMs = Math.round(before - offset())
    before -= byMs
    if (byMs < clockStepMs) return
    if (app.nodes.count > 1) {
      log.warn(
        { byMs },
        'the clock was set back: what waits is left as it is, for other nodes have put it as well',
      )
      return
    }
    log.warn({ byMs }, 'the clock was set back: what waits is due as soon as it was before')
    working = working
      .then(() => setBack(app, byMs, stopping.signal))
      .catch(error => log.error({ err: error }, 'what waits could not be set back with the clock'))
  }
  const timer = setInterval(() => void look(), clockLookMs).unref()
  return () => {
    clearInterval(timer)
    stopping.abort()
    return working
  }
}

async function setBack({ clock, store }: Watched, byMs: number, stopping: AbortSignal): Promise<void> {
  const now = clock.now().toISOString()
  for (const column of waitingColumns) {
    let after: string | undefined = ''
    while (after !== undefined && !stopping.aborted) {
      const some: Parameters<typeof setBackSome>[2] = { byMs, now, after, limit: sweepRows }
      after = await store.writeHolding(holdsNothing, db => setBackSome(db, column, some))
    }
  }
}
