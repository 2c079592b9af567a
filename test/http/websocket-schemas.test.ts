import t from 'tap'
import { startApi } from '../support/api-app.ts'
import { describedForm } from '../support/contract.ts'
import { openSocket } from '../support/socket-client.ts'

/** Values of every kind that JSON has, to stand where another kind is meant. */
const values = [
  '',
  'text',
  1,
  true,
  null,
  [],
  [1],
  ['message.sent'],
  {},
  Array(101).fill('x'),
  'x'.repeat(101),
]

/** What a client may think of saying: each property with each value, and what is not there. */
function* sayings(): Generator<object> {
  for (const type of ['subscribe', 'unsubscribe', 'ping']) {
    yield* [{ type }, { type, inboxIds: [] }, { type, event: 'message.sent' }]
    for (const name of ['inbox_ids', 'event_types', 'last_event_id']) {
      for (const value of values) yield { type, [name]: value }
    }
  }
  for (const type of ['pong', 'subscribed', 'error', '', 1, null, undefined]) yield { type }
}

t.test('a message is understood exactly when OpenAPI calls it a WsClientMessage', async t => {
  const server = await startApi(t)
  const faultOf = describedForm('WsClientMessage')
  const understood = { true: 0, false: 0 }
  const open = async () => {
    const client = await openSocket(t, server.baseUrl, server.token)
    // So that what is out of reach does not end the connection.
    await client.ask({ type: 'subscribe', event_types: ['webhook.test'] })
    return client
  }
  let client = await open()
  let said = 0
  for (const message of sayings()) {
    // A connection takes 30 messages in 10 seconds, and 20 subscriptions; each is held against the form by the client.
    if (++said % 15 === 0) {
      client.socket.close()
      await client.closed
      client = await open()
    }
    const { type, details = [] } = await client.ask(message)
    const isForm = faultOf(JSON.parse(JSON.stringify(message))) === undefined
    // Of a good form what is named may not be there: that is told by the place of each.
    const isAboutForm =
      type === 'error' &&
      !details.every(
        ({ path, message }: { path: string; message: string }) =>
          /^\/(inbox_ids|event_types|last_event_id)/.test(path) && /^(is|names) no /.test(message),
      )
    understood[`${isForm}`]++
    t.equal(isAboutForm, !isForm, JSON.stringify(message).slice(0, 100))
  }
  t.strictSame(understood, { true: 15, false: 100 })
  t.strictSame(server.faults, [])
})
