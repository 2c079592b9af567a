import t from 'tap'
import { drainNode } from '../../../lib/core/nodes/list.ts'
import { startApi } from '../../support/api-app.ts'

t.test('a name is no id: who gives one is told where the ids are', async t => {
  const { app } = await startApi(t)
  await t.rejects(drainNode(app, 'vm', true), {
    code: 'not_found',
    message: /no node with the id vm .*`mailboxctl node list` shows the ids/,
  })
})
