import t from 'tap'
import { apiOf } from '../support/api.ts'
import { findContradictions } from '../support/consistency.ts'
import { startDaemon } from '../support/daemon.ts'
import { createInbox } from '../support/mailbox.ts'
import { until } from '../support/until.ts'

t.test('a scheduled draft is sent once, though the daemon was killed before its time', async t => {
  const daemon = await startDaemon(t)
  const ann = await createInbox(daemon, 'ann')
  const bea = await createInbox(daemon, 'bea')
  const { token } = await daemon.createKey()
  const sendAt = new Date(Date.now() + 1500).toISOString()
  const draft = { to: bea.address, subject: 'Later', body: 'Hi', sendAt }
  const { status, body } = await ann.api.post(`/v1/inboxes/${ann.id}/drafts`, draft)
  t.strictSame([status, body.status], [201, 'scheduled'])
  await daemon.end('SIGKILL')

  const again = await daemon.restart()
  const api = apiOf(again.baseUrl, token)
  const sent = await until('the draft to be sent', async () => {
    const answer = (await api.get(`/v1/drafts/${body.id}`)).body
    return answer.status === 'sent' ? answer : undefined
  })
  await until('it to arrive', async () => {
    const { total } = (await api.get(`/v1/inboxes/${bea.id}/messages`)).body
    return total === 1 ? total : undefined
  })
  const { total, data } = (await api.get(`/v1/inboxes/${ann.id}/messages`)).body
  t.strictSame([total, data[0].id], [1, sent.messageId])
  t.ok(data[0].createdAt >= sendAt, 'not before its time')
  await again.end('SIGTERM')
  t.strictSame(await findContradictions(daemon.dataDir), [])
})
