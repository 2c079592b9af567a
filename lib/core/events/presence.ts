import { holdsNothing } from '../../store/dialect/held.ts'
import { type ReadScope, replaceReaders } from '../../store/readers.ts'
import type { App } from '../app/app.ts'
import { streamPollMs } from '../mailbox/waiters.ts'

/** How many different inboxes and types the readers of one node are told to the others by. */
const readScopes = 1000

/** Tells other nodes who reads the stream of events at this one. */
export interface Presence {
  /** This is what readers take by now. */
  set(scopes: readonly ReadScope[]): void
}

/**
 * Rows, for who takes mail in or calls a webhook at another node asks them (`Readers.isRead`). They follow what is so within a second, and go
 * with the start of the node. Of more than `readScopes` some are not told of: then a webhook is called that need not be.
 */
export function createPresence({ store, nodes, log }: App): Presence {
  if (store.dialect === 'sqlite') return { set() {} }
  let wanted: readonly ReadScope[] = []
  let told = ''
  let isTelling = false

  const nameOf = (holder: string) => `${holder}\n${JSON.stringify(wanted)}`

  async function tell(): Promise<void> {
    if (isTelling) return
    isTelling = true
    try {
      for (let { holder } = nodes; told !== nameOf(holder); { holder } = nodes) {
        const name = nameOf(holder)
        const scopes = wanted
        await store.writeHolding(holdsNothing, db => replaceReaders(db, holder, scopes))
        told = name
      }
    } catch (error) {
      log.warn({ err: error }, 'other nodes can not be told who reads events here')
      setTimeout(tell, streamPollMs).unref()
    } finally {
      isTelling = false
    }
  }

  return {
    set(scopes) {
      const all = new Map(scopes.map(scope => [JSON.stringify(scope), scope]))
      wanted = [...all.values()].slice(0, readScopes)
      // Nobody was ever told of any.
      if (wanted.length > 0 || told !== '') void tell()
    },
  }
}
