import type { Networked } from '../../lib/core/app/app.ts'
import { deliver } from '../../lib/core/delivery/deliver.ts'

/** Attempts every delivery that is due once, without the queue's runner. */
export async function carryAll(app: Networked): Promise<void> {
  const claim = () => app.queue.claim('delivery', { limit: 100, room: () => Number.POSITIVE_INFINITY })
  for (let due = await claim(); due.length > 0; due = await claim()) {
    for (const entry of due) await deliver(app, entry)
  }
}
