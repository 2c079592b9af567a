import t from 'tap'
import { createKey, findCaller } from '../../lib/core/account/keys.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { systemAddress } from '../../lib/core/domains/usable.ts'
import { startApi } from '../support/api-app.ts'
import { indexed } from '../support/indexed.ts'
import { openSocket } from '../support/socket-client.ts'
import { addVerifiedDomain } from '../support/verified-domain.ts'

const nobody = 'nobody@ours.example'

t.test('the {id} of an inbox may be its address, everywhere', async t => {
  const server = await startApi(t)
  const { api } = server
  const { id, address } = (await api.post('/v1/inboxes', { mailboxName: 'ann' })).body
  for (const name of [address, 'ANN@Ours.Example', encodeURIComponent(address)]) {
    t.equal((await api.get(`/v1/inboxes/${name}`)).body.id, id, name)
  }
  const to = { to: 'bob@example.net', subject: 's', body: 'b' }
  const sent = await api.send(address, to, 'once')
  t.strictSame((await api.send(id, to, 'once')).body, sent.body, 'a repeat by the id is the same request')
  const draft = await api.post(`/v1/inboxes/${address}/drafts`, to)
  t.equal(draft.body.inboxId, id)
  await indexed(server.app.store)
  for (const path of [
    `/v1/inboxes/${address}/messages`,
    `/v1/inboxes/${address}/messages?q=b`,
    `/v1/inboxes/${address}/threads`,
    `/v1/inboxes/${address}/drafts`,
  ]) {
    const { body } = await api.get(path)
    t.ok(body.data.length > 0, path)
    for (const one of body.data) t.equal(one.inboxId, id, path)
  }
  t.equal((await api.get(`/v1/inboxes/${address}/messages/wait?timeout=0`)).status, 200)
  t.equal((await api.get(`/v1/events?inboxId=${address}`)).status, 200)
  t.equal((await api.get(`/v1/events/stream?inboxId=${address}`)).status, 200)
  t.equal((await api.get(`/v1/policy?inboxId=${address}`)).body.scope.inboxId, id)
  const rule = { type: 'block', value: 'example.org', direction: 'inbound' }
  t.equal((await api.post(`/v1/policy/rules?inboxId=${address}`, rule)).status, 201)
  t.equal((await api.get(`/v1/usage?inboxId=${address}`)).status, 200)
  t.equal((await api.patch(`/v1/inboxes/${address}`, { displayName: 'Ann' })).body.displayName, 'Ann')
  const key = (await api.post(`/v1/inboxes/${address}/api-keys`, {})).body
  t.equal(key.inboxId, id)
  t.equal((await api.get(`/v1/inboxes/${address}/api-keys`)).body.data[0].id, key.id)
  t.equal((await api.delete(`/v1/inboxes/${address}/api-keys/${key.id}`)).status, 204)
  const hook = { webhookUrl: 'https://hooks.example.net/' }
  t.equal((await api.patch(`/v1/inboxes/${address}`, hook)).status, 200)
  t.equal((await api.post(`/v1/inboxes/${address}/webhook/rotate-secret`)).status, 200)
  t.equal((await api.delete(`/v1/inboxes/${address}`)).status, 204)
  t.equal((await api.get(`/v1/inboxes/${address}`)).status, 404, 'a deleted one has no address')
  for (const odd of ['ann', '@', 'ann@', '%00', 'ann@ours.example@x', `${'a'.repeat(400)}@ours.example`]) {
    t.equal((await api.get(`/v1/inboxes/${odd}`)).status, 404, odd)
  }
  t.strictSame(server.faults, [])
})

t.test('a WebSocket takes addresses, too', async t => {
  const { api, baseUrl, token } = await startApi(t)
  const { id, address } = (await api.post('/v1/inboxes', { mailboxName: 'ann' })).body
  const client = await openSocket(t, baseUrl, token)
  t.match(await client.ask({ type: 'subscribe', inbox_ids: [address.toUpperCase()] }), {
    type: 'subscribed',
    inbox_ids: [id],
  })
  t.match(await client.ask({ type: 'subscribe', inbox_ids: [id, nobody] }), {
    type: 'error',
    message: new RegExp(nobody),
  })
  t.match(await client.ask({ type: 'unsubscribe', inbox_ids: [address] }), { type: 'unsubscribed' })
})

t.test('a foreign address is told as one that nobody has', async t => {
  const server = await startApi(t)
  const { api, apiWith } = server
  const [mine, theirs] = [(await api.post('/v1/pods', {})).body.id, (await api.post('/v1/pods', {})).body.id]
  const own = (await api.post('/v1/inboxes', { podId: mine, mailboxName: 'own' })).body
  const sibling = (await api.post('/v1/inboxes', { podId: mine, mailboxName: 'sibling' })).body.address
  const foreign = (await api.post('/v1/inboxes', { podId: theirs, mailboxName: 'foreign' })).body.address
  const podApi = apiWith((await api.post(`/v1/pods/${mine}/api-keys`, {})).body.token)
  const inboxApi = apiWith((await api.post(`/v1/inboxes/${own.id}/api-keys`, {})).body.token)
  for (const [narrow, hidden] of [
    [podApi, foreign],
    [inboxApi, foreign],
    [inboxApi, sibling],
  ] as const) {
    const asked: [string, string, object?][] = [
      ['GET', '/v1/inboxes/#'],
      ['GET', '/v1/inboxes?address=#'],
      ['GET', '/v1/inboxes/#/messages'],
      ['GET', '/v1/inboxes/#/messages/wait?timeout=0'],
      ['GET', '/v1/inboxes/#/threads'],
      ['GET', '/v1/inboxes/#/drafts'],
      ['GET', '/v1/events?inboxId=#'],
      ['GET', '/v1/events/stream?inboxId=#'],
      ['GET', '/v1/policy?inboxId=#'],
      ['GET', '/v1/usage?inboxId=#'],
      ['POST', '/v1/inboxes/#/drafts', {}],
      ['POST', '/v1/inboxes/#/send', { to: 'bob@example.net', subject: 's', body: 'b' }],
      ['PATCH', '/v1/inboxes/#', { displayName: 'x' }],
      ['POST', '/v1/inboxes/#/api-keys', {}],
    ]
    for (const [method, path, body] of asked) {
      const [there, absent] = await Promise.all(
        [hidden, nobody].map(name =>
          narrow.call(method, path.replace('#', name), body, {
            'idempotency-key': `${name}${method}${path}`,
          }),
        ),
      )
      t.strictSame([there!.status, there!.body], [absent!.status, absent!.body], `${method} ${path}`)
    }
  }
  t.equal((await podApi.get(`/v1/inboxes/${sibling}`)).status, 200)
  t.equal(
    (await podApi.delete(`/v1/inboxes/${foreign}`)).status,
    403,
    'the one exception of the specification',
  )
})

t.test('lists by address and by domain', async t => {
  const server = await startApi(t)
  const { api, app, apiWith } = server
  const pod = (await api.post('/v1/pods', { clientId: 'p' })).body.id
  const { id, address } = (await api.post('/v1/inboxes', { podId: pod, mailboxName: 'ann' })).body
  await api.post('/v1/inboxes', {})
  const ids = async (query: string, by = api) => {
    const { body } = await by.get(`/v1/inboxes?${query}`)
    return [body.data.map((one: { id: string }) => one.id), body.total]
  }
  t.strictSame(await ids(`address=${address}`), [[id], 1])
  t.strictSame(await ids('address=ANN@OURS.example&podId=p'), [[id], 1])
  t.strictSame(await ids(`address=${address}&offset=1`), [[], 1])
  const other = (await api.post('/v1/pods', {})).body.id
  t.strictSame(await ids(`address=${address}&podId=${other}`), [[], 0])
  for (const unknown of [nobody, '', 'x', id]) t.strictSame(await ids(`address=${unknown}`), [[], 0], unknown)
  const system = (await api.get(`/v1/inboxes?address=${systemAddress(app)}`)).body
  t.equal(system.data[0]?.address, systemAddress(app), 'a system inbox is shown by its address')

  await addVerifiedDomain(app, 'acme.example')
  const theirs = (await api.post('/v1/domains', { domain: 'theirs.example', podId: pod })).body.id
  const domains = async (name: string, by = api) => {
    const { body } = await by.get(`/v1/domains?domain=${name}`)
    return [body.data.map((one: { domain: string }) => one.domain), body.total]
  }
  t.strictSame(await domains('acme.example'), [['acme.example'], 1])
  t.strictSame(await domains('ACME.Example'), [['acme.example'], 1])
  for (const unknown of ['other.example', '', 'a b', theirs]) t.strictSame(await domains(unknown), [[], 0])
  t.strictSame(await domains('ours.example'), [[], 0], "the account's own is the operator's")
  const podApi = apiWith((await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token)
  t.strictSame(await domains('theirs.example', podApi), [['theirs.example'], 1])
  t.strictSame(await domains('acme.example', podApi), [[], 0])
  t.strictSame(server.faults, [])
})

t.test('clientId makes the creation of an inbox repeatable', async t => {
  const server = await startApi(t)
  const { api, apiWith } = server
  const request = { clientId: 'support', mailboxName: 'support', displayName: 'Support' }
  const made = await api.post('/v1/inboxes', request)
  t.strictSame([made.status, made.body.clientId], [201, 'support'])
  const again = await api.post('/v1/inboxes', request)
  t.strictSame([again.status, again.body], [200, made.body], 'the same again')
  await api.patch(`/v1/inboxes/${made.body.id}`, { displayName: 'Changed' })
  const later = await api.post('/v1/inboxes', { ...request, podId: made.body.podId, domain: null })
  t.strictSame([later.status, later.body.displayName], [200, 'Changed'], 'as it is now, and left so')
  for (const other of [
    { ...request, displayName: 'Another' },
    { ...request, mailboxName: 'another' },
    { clientId: 'support' },
    { ...request, forwardTo: 'ann@example.net' },
  ]) {
    const { status, body } = await api.post('/v1/inboxes', other)
    t.strictSame([status, body.error], [409, 'client_id_taken'])
    t.match(body.message, /support@ours\.example/)
  }
  const hook = { clientId: 'hook', webhookUrl: 'https://hooks.example.net/' }
  t.type((await api.post('/v1/inboxes', hook)).body.webhookSecret, 'string')
  t.notOk('webhookSecret' in (await api.post('/v1/inboxes', hook)).body, 'told once')

  const race = await Promise.all(
    Array.from({ length: 8 }, () => api.post('/v1/inboxes', { clientId: 'race' })),
  )
  t.strictSame(race.map(one => one.status).sort(), [...Array(7).fill(200), 201])
  t.equal(new Set(race.map(one => one.body.id)).size, 1)

  const pod = (await api.post('/v1/pods', {})).body.id
  const podApi = apiWith((await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token)
  const inPod = await podApi.post('/v1/inboxes', { clientId: 'support' })
  t.strictSame([inPod.status, inPod.body.podId], [201, pod], 'each pod has its own')
  t.equal((await podApi.post('/v1/inboxes', { clientId: 'support' })).body.id, inPod.body.id)
  t.equal((await podApi.post('/v1/inboxes', { clientId: 'race' })).status, 201, "and learns of no other's")

  await api.delete(`/v1/inboxes/${made.body.id}`)
  const anew = await api.post('/v1/inboxes', { clientId: 'support' })
  t.equal(anew.status, 201, 'that of a deleted inbox is free')
  t.equal((await api.post('/v1/inboxes', { clientId: '' })).body.error, 'invalid_request')
  t.equal((await api.post('/v1/inboxes', { clientId: 'x'.repeat(256) })).status, 400)
  t.equal((await api.post('/v1/inboxes', { clientId: null })).body.clientId, null)
  t.equal((await api.delete(`/v1/inboxes/${inPod.body.id}`)).status, 204)
  for (const one of (await podApi.get('/v1/inboxes')).body.data) await api.delete(`/v1/inboxes/${one.id}`)
  t.equal((await api.delete(`/v1/pods/${pod}`)).status, 204, 'what it left stands in no way')
  t.strictSame(server.faults, [])
})

t.test('a repeat takes no place of a plan or a day', async t => {
  const { api } = await startApi(t, { toml: '[limits]\ninbox_creations_per_day = 2' })
  const ask = async () => (await api.post('/v1/inboxes', { clientId: 'one' })).status
  t.strictSame([await ask(), await ask(), await ask()], [201, 200, 200])
  t.equal((await api.post('/v1/inboxes', {})).status, 201)
  t.equal((await api.post('/v1/inboxes', {})).body.error, 'inbox_creation_limit')
  t.equal(await ask(), 200)
})

t.test('keys.prefix is what new tokens begin with, and old keys stay good', async t => {
  const { app } = await startApi(t)
  const old = await createKey(app, operator, { account: true }, null)
  t.match(old.token, /^mbx_[A-Za-z0-9]{43}$/)
  const theirs: typeof app = Object.create(app, {
    config: { value: { ...app.config, keys: { prefix: 'svc_live_' } } },
  })
  const { token, tokenPrefix } = await createKey(theirs, operator, { account: true }, null)
  t.match(token, /^svc_live_[A-Za-z0-9]{43}$/)
  t.equal(tokenPrefix, token.slice(0, 8))
  for (const good of [old.token, token]) t.ok(await findCaller(theirs, good))
})

t.test('me and the messages of a thread say where they belong', async t => {
  const { api, apiWith } = await startApi(t)
  const { id } = (await api.post('/v1/inboxes', {})).body
  const key = (await api.post(`/v1/inboxes/${id}/api-keys`, {})).body.token
  const [all, one] = [(await api.get('/v1/me')).body, (await apiWith(key).get('/v1/me')).body]
  t.match(all.accountId, /^[0-9a-f-]{36}$/)
  t.equal(one.accountId, all.accountId)
  const sent = (await api.send(id, { to: 'bob@example.net', subject: 's', body: 'b' })).body
  t.equal((await api.get(`/v1/threads/${sent.threadId}/messages`)).body.inboxId, id)
})
