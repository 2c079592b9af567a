import type { Message } from '../../lib/model/message.ts'
import { type Api, apiOf } from './api.ts'
import type { TestDaemon } from './daemon.ts'
import { until } from './until.ts'

/** An inbox of a daemon under test, with an account key. */
export interface TestInbox {
  readonly api: Api
  /** Of that key. */
  readonly token: string
  readonly id: string
  readonly address: string
  /** Waits until the inbox has `count` inbound messages and gives them, oldest first. */
  received(count?: number): Promise<Message[]>
  /** Waits until an outbound message is pending no more; gives it. */
  settled(messageId: string): Promise<Message>
}

export async function createInbox(daemon: TestDaemon, mailboxName: string): Promise<TestInbox> {
  const { token } = await daemon.createKey()
  const api = apiOf(daemon.baseUrl, token)
  const made = await api.post('/v1/inboxes', { mailboxName, displayName: `${mailboxName} (agent)` })
  if (made.status !== 201) throw new Error(`no inbox: ${made.status} ${JSON.stringify(made.body)}`)
  const inbox = made.body
  const id = String(inbox.id)
  return {
    api,
    token,
    id,
    address: String(inbox.address),
    received: (count = 1) =>
      until(`${count} messages in ${mailboxName}`, async () => {
        const { body } = await api.get(`/v1/inboxes/${id}/messages?direction=inbound&limit=100`)
        return body.total >= count ? body.data.reverse() : undefined
      }),
    settled: messageId =>
      until(`${messageId} to be pending no more`, async () => {
        const { body } = await api.get(`/v1/messages/${messageId}`)
        return body.status === 'pending' ? undefined : body
      }),
  }
}
