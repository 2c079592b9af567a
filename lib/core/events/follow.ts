import { setTimeout as pause } from 'node:timers/promises'
import type { EventBody } from '../../model/event-body.ts'
import { pageSizeMax } from '../../model/page.ts'
import { findLastEventId } from '../../store/events.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { listEvents } from './list.ts'

/** How often mailboxctl looks for new events. */
const followMs = 500

interface Followed {
  readonly inboxId?: string
  readonly type?: string
  /** The event after which it begins; without one, with what happens from now on. */
  readonly after?: string
}

/** What happens, as it happens, whatever process does it; goes on until whoever asks stops. */
export async function* followEvents(app: App, caller: Caller, asked: Followed): AsyncGenerator<EventBody> {
  const { after: first, ...of } = asked
  let after = first ?? (await findLastEventId(app.store.read)) ?? ''
  for (;;) {
    const page = await listEvents(app, caller, after === '' ? of : { ...of, after }, pageSizeMax)
    yield* page
    after = page.at(-1)?.event_id ?? after
    if (page.length === 0) await pause(followMs)
  }
}
