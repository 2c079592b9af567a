import { findInboxByAddress } from '../../store/inboxes.ts'
import type { InboxRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { hasLocalName } from '../domains/local-name.ts'

/** The mailbox name of the inbox that local mode makes at its first start. */
export const firstMailboxName = 'hello'

/** That inbox, while there is one; undefined on a server, which tells strangers none of its addresses. */
export async function findFirstInbox({ config, store }: App): Promise<InboxRow | undefined> {
  if (!hasLocalName(config)) return undefined
  return findInboxByAddress(store.read, `${firstMailboxName}@${config.account_domain}`)
}
