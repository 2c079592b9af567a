import t from 'tap'
import { startApi } from '../support/api-app.ts'
import { startDaemon } from '../support/daemon.ts'
import { createEventWriter } from '../support/event-writer.ts'
import { openSocket } from '../support/socket-client.ts'
import { until } from '../support/until.ts'

t.test('revocation closes at once', async t => {
  const { api, app, baseUrl, token, faults } = await startApi(t)
  const pod = (await api.post('/v1/pods', {})).body.id
  const inbox = (await api.post('/v1/inboxes', {})).body
  const gone = (await api.post('/v1/inboxes', {})).body
  const keyOf = async (path: string) => (await api.post(`/v1/${path}/api-keys`, {})).body
  const [inboxKey, goneKey, podKey] = [
    await keyOf(`inboxes/${inbox.id}`),
    await keyOf(`inboxes/${gone.id}`),
    await keyOf(`pods/${pod}`),
  ]
  const account = await openSocket(t, baseUrl, token)
  for (const [key, path] of [
    [inboxKey, `inboxes/${inbox.id}/api-keys/${inboxKey.id}`],
    [goneKey, `inboxes/${gone.id}`],
    [podKey, `pods/${pod}`],
  ]) {
    const [one, two] = [await openSocket(t, baseUrl, key.token), await openSocket(t, baseUrl, key.token)]
    await one.ask({ type: 'subscribe' })
    t.equal((await api.delete(`/v1/${path}`)).status, 204)
    t.match(await one.closed, { code: 4001 }, path)
    t.match(await two.closed, { code: 4001 })
    t.match(await (await openSocket(t, baseUrl, key.token)).closed, { code: 4001 })
  }
  t.notOk(app.readers.has({ type: 'message.received', podId: inbox.podId, inboxId: inbox.id }))
  t.strictSame(await account.ask({ type: 'ping' }), { type: 'pong' })
  t.strictSame(faults, [])
})

t.test('stopping closes with 1001, also who does not close with it', async t => {
  const server = await startApi(t)
  const { app, baseUrl, token } = server
  const [polite, silent] = [await openSocket(t, baseUrl, token), await openSocket(t, baseUrl, token)]
  await polite.ask({ type: 'subscribe' })
  await createEventWriter(app).write(undefined, 'domain.failed')
  await polite.told(1)
  silent.socket.pause()
  const stopped = server.door.stop()
  t.match(await polite.closed, { code: 1001 })
  await stopped
  await t.rejects(openSocket(t, baseUrl, token))
})

t.test('a daemon, with mailboxctl in another process', async t => {
  const daemon = await startDaemon(t, { toml: '[log]\nlevel = "debug"' })
  const { token } = await daemon.createKey()
  const { token: other, id } = await daemon.createKey()
  const client = await openSocket(t, daemon.baseUrl, token)
  const revoked = await openSocket(t, daemon.baseUrl, undefined, { query: `?token=${other}` })
  await revoked.ask({ type: 'subscribe' })
  await daemon.ctl('key', 'revoke', id, '--yes')
  t.match(await revoked.closed, { code: 4001 })
  const dead = await openSocket(t, daemon.baseUrl, token)
  await dead.ask({ type: 'subscribe' })
  dead.socket.terminate()
  await until('it to be known', () => daemon.log().some(entry => entry.code === 1006))
  const feed = new AbortController()
  const response = await fetch(`${daemon.baseUrl}/v1/events/stream?token=${token}`, { signal: feed.signal })
  t.equal(response.status, 200)
  const stopped = daemon.end('SIGTERM')
  t.match(await client.closed, { code: 1001 })
  await response.text()
  t.equal(await stopped, 0)
  const log = JSON.stringify(daemon.log())
  t.match(log, '/v1/ws')
  t.match(log, '/v1/events/stream')
  t.notMatch(log, token)
  t.notMatch(log, other)
  t.notMatch(log, 'token=')
  t.strictSame(daemon.troubles(), [])
})
