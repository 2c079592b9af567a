import { findInboxByAddress } from '../../store/inboxes.ts'
import type { InboxRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'

/** The mailbox name of the inbox that local mode makes at its first start. */
export const firstMailboxName = 'hello'

/** That inbox, while there is one; undefined on a server, which tells strangers none of its addresses. */
export async function findFirstInbox({ config, store }: App): Promise<InboxRow | undefined> {
  // No name that others can look up ends so (RFC 6761 §6.3).
  const isLocal = config.delivery.mode === 'capture' && config.account_domain.endsWith('.localhost')
  if (!isLocal) return undefined
  return findInboxByAddress(store.read, `${firstMailboxName}@${config.account_domain}`)
}
