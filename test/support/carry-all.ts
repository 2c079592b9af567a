import type { Networked } from '../../lib/core/app/app.ts'
import { deliver } from '../../lib/core/delivery/deliver.ts'
import { claim } from './claim.ts'

/** Attempts every delivery that is due once, without the queue's runner. */
export async function carryAll(app: Networked): Promise<void> {
  for (
    let due = await claim(app.queue, 'delivery', 100);
    due.length > 0;
    due = await claim(app.queue, 'delivery', 100)
  ) {
    for (const entry of due) await deliver(app, entry)
  }
}
