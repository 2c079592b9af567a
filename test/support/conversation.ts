import { withMessage, writeParticipants } from '../../lib/core/mailbox/participants.ts'
import { findInbox } from '../../lib/store/inboxes.ts'
import type { WholeMessage } from '../../lib/store/tables.ts'
import type { Api } from './api.ts'
import type { ApiApp } from './api-app.ts'
import { insertMessageRow, insertThreadRow } from './rows.ts'

/** An inbox that mail came to, and what it then sent. */
export interface Conversation {
  readonly api: Api
  readonly id: string
  readonly address: string
  /** A message that came in from a proven author, in a thread of its own unless one is named. */
  came(changes?: Partial<WholeMessage>, threadId?: string): Promise<WholeMessage>
  /** Whom a message of ours names in its header, and whom it goes to. */
  wentTo(messageId: string): Promise<{ to: string; cc: string; recipients: string[] }>
}

/** A conversation of an inbox that is new. */
export async function startConversation({ api, app }: ApiApp, mailboxName: string): Promise<Conversation> {
  const { id, address } = (await api.post('/v1/inboxes', { mailboxName })).body
  const field = (raw: string, name: string) =>
    new RegExp(`^${name}: ((?:.*\\r\\n[ \\t])*.*)\\r\\n`, 'im').exec(raw)?.[1]?.replaceAll(/\r\n\s+/g, ' ') ??
    ''
  return {
    api,
    id,
    address,
    came: (changes = {}, threadId) =>
      app.store.write(async db => {
        const inbox = (await findInbox(db, id))!
        const thread = threadId
          ? await db.selectFrom('thread').selectAll().where('id', '=', threadId).executeTakeFirstOrThrow()
          : await insertThreadRow(db, inbox.id)
        const row = await insertMessageRow(db, thread, {
          id: app.ids.next(),
          toAddr: address,
          headerTo: address,
          fromProven: 1,
          ...changes,
        })
        const before = new Set(JSON.parse(thread.participants ?? '[]') as string[])
        const participants = writeParticipants(withMessage(before, row, before.size === 0))
        await db.updateTable('thread').set({ participants }).where('id', '=', thread.id).execute()
        return row
      }),
    async wentTo(messageId) {
      const raw = (await api.get(`/v1/messages/${messageId}/raw`)).bytes.toString()
      const { data } = (await api.get(`/v1/messages/${messageId}/deliveries`)).body
      const recipients = data.map((one: { recipient: string }) => one.recipient)
      return { to: field(raw, 'To'), cc: field(raw, 'Cc'), recipients }
    },
  }
}
