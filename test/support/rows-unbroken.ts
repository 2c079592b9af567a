import { isoAfter } from '../../lib/base/time.ts'
import type { App } from '../../lib/core/app/app.ts'
import { findBroken, invariants } from '../../lib/store/invariants.ts'
import { writtenBare } from './rows.ts'

/** No test moves its clock so far on that a sweep takes younger ones. */
const eventsKeptMs = 3_600_000

/**
 * @param but names of the invariants that the test itself breaks
 * @throws Error that names what contradicts itself between rows, as `mailboxctl verify` finds it
 */
export async function requireUnbroken(
  { store, clock }: Pick<App, 'store' | 'clock'>,
  but: readonly string[] = [],
): Promise<void> {
  const since = isoAfter(clock.now(), -eventsKeptMs)
  const found: string[] = []
  for (const invariant of invariants.filter(({ name }) => !but.includes(name))) {
    const rows = (await findBroken(store.read, invariant, since, 1000)).filter(
      one => !writtenBare.has(one.subject),
    )
    found.push(...rows.map(one => `${invariant.name}: ${one.subject} ${one.found}`))
  }
  if (found.length > 0) throw new Error(`the rows contradict themselves: ${found.slice(0, 5).join('; ')}`)
}
