import { randomUUID } from 'node:crypto'
import t from 'tap'
import { isFileKept, listKeptFiles } from '../../lib/store/kept-files.ts'
import { startApi } from '../support/api-app.ts'

t.test('a file is kept while a message or an unsent draft is of it', async t => {
  const { api, app } = await startApi(t)
  const inbox = (await api.post('/v1/inboxes', {})).body.id
  const content = Buffer.alloc(400_000, 'x').toString('base64')
  const letter = {
    to: 'bob@example.net',
    subject: 'Hi',
    body: 'Hi',
    attachments: [{ filename: 'a', content }],
  }
  const kept = async () => (await listKeptFiles(app.store.read, '', 100)).map(({ id }) => id)
  const areKept = (ids: readonly string[]) => Promise.all(ids.map(id => isFileKept(app.store.read, id)))

  const { messageId } = (await api.send(inbox, letter)).body
  const ofMessage = await kept()
  const draft = await api.post(`/v1/inboxes/${inbox}/drafts`, { ...letter, to: [letter.to] })
  const ofDraft = (await kept()).filter(id => !ofMessage.includes(id))
  t.strictSame([ofMessage.length, ofDraft.length], [1, 1])
  t.strictSame(await areKept([...ofMessage, ...ofDraft, randomUUID()]), [true, true, false])

  await api.delete(`/v1/drafts/${draft.body.id}`)
  t.strictSame(await areKept([...ofMessage, ...ofDraft]), [true, false])
  await api.delete(`/v1/messages/${messageId}`)
  t.strictSame(await areKept([...ofMessage, ...ofDraft]), [false, false])
})
