import t from 'tap'
import { drainNode, findNodes } from '../../../lib/core/nodes/list.ts'
import { startApi } from '../../support/api-app.ts'

t.test('a name is no id: who gives one is told where the ids are', async t => {
  const { app } = await startApi(t)
  await t.rejects(drainNode(app, 'vm', true), {
    code: 'not_found',
    message: /no node with the id vm .*`mailboxctl node list` shows the ids/,
  })
})

t.test('a node is up, drains, or is silent', async t => {
  const { app } = await startApi(t)
  const stateOf = async (isUp: boolean, isAlone = true) => {
    const [node] = await findNodes(app, { isAlone, isUp })
    return node!
  }
  const { id, state, leasedUntil } = await stateOf(true)
  t.strictSame([state, leasedUntil], ['up', null])
  t.equal((await stateOf(false)).state, 'silent')
  t.equal((await stateOf(false, false)).state, 'up', 'among several its lease says so')
  await drainNode(app, id, true)
  t.equal((await stateOf(true)).state, 'draining')
  t.equal((await stateOf(false)).state, 'silent')
  await drainNode(app, id, false)
  t.equal((await stateOf(true)).state, 'up')
})
