import t from 'tap'
import { startApi } from '../support/api-app.ts'
import { until } from '../support/until.ts'

const nothing = '01890000-0000-7000-8000-000000000000'

t.test('pods', async t => {
  const server = await startApi(t)
  const { api } = server

  await t.test('the default pod is first and stays', async t => {
    const { data, total } = (await api.get('/v1/pods')).body
    t.equal(total, 1)
    t.match(data[0], { clientId: null, name: null, isDefault: true })
    await api.post('/v1/pods', { name: 'later' })
    const list = (await api.get('/v1/pods')).body
    t.equal(list.total, 2)
    t.strictSame(
      list.data.map((pod: { isDefault: boolean }) => pod.isDefault),
      [true, false],
    )
    const refused = await api.delete(`/v1/pods/${data[0].id}`)
    t.strictSame([refused.status, refused.body.error], [409, 'default_pod'])
  })

  await t.test('clientId stands in place of id, wherever a pod is named', async t => {
    const clientId = 'tenant 1/ü%?#'
    const named = encodeURIComponent(clientId)
    const pod = (await api.post('/v1/pods', { clientId, name: 'One' })).body
    t.match(pod, { clientId, name: 'One', isDefault: false })
    t.strictSame((await api.get(`/v1/pods/${named}`)).body, pod)
    t.strictSame((await api.get(`/v1/pods/${pod.id.toUpperCase()}`)).body, pod)
    t.equal((await api.patch(`/v1/pods/${named}`, { name: 'Two' })).body.name, 'Two')
    const key = (await api.post(`/v1/pods/${named}/api-keys`, { name: 'k' })).body
    t.equal(key.podId, pod.id)
    t.equal((await api.get(`/v1/pods/${named}/api-keys`)).body.data.length, 1)
    t.equal((await api.delete(`/v1/pods/${named}/api-keys/${key.id}`)).status, 204)
    const inbox = (await api.post('/v1/inboxes', { podId: clientId })).body
    t.equal(inbox.podId, pod.id)
    t.equal((await api.get(`/v1/inboxes?podId=${named}`)).body.total, 1)
    t.equal((await api.delete(`/v1/pods/${named}`)).body.error, 'pod_not_empty')
    await api.delete(`/v1/inboxes/${inbox.id}`)
    t.equal((await api.delete(`/v1/pods/${named}`)).status, 204, 'its deleted inbox holds no pod back')
    t.equal((await api.get(`/v1/pods/${pod.id}`)).status, 404)
    const local = inbox.address.split('@')[0]
    t.equal(
      (await api.post('/v1/inboxes', { mailboxName: local })).body.error,
      'address_taken',
      'nor gives it its address up',
    )
  })

  await t.test('only what is given changes; null clears', async t => {
    const { id } = (await api.post('/v1/pods', { clientId: 'c', name: 'n' })).body
    const change = async (body: object) => {
      const { clientId, name } = (await api.patch(`/v1/pods/${id}`, body)).body
      t.match((await api.get(`/v1/pods/${id}`)).body, { clientId, name })
      return [clientId, name]
    }
    t.strictSame(await change({}), ['c', 'n'])
    t.strictSame(await change({ name: null }), ['c', null])
    t.strictSame(await change({ clientId: null }), [null, null])
    t.equal((await api.get('/v1/pods/c')).status, 404)
    t.strictSame(await change({ clientId: 'd', name: 'm' }), ['d', 'm'])
    t.strictSame(await change({ clientId: 'd' }), ['d', 'm'], 'its own clientId again')
  })

  await t.test('a clientId is taken once, also in a race, and is free again when cleared', async t => {
    const made = await Promise.all(
      Array.from({ length: 10 }, () => api.post('/v1/pods', { clientId: 'twice' })),
    )
    t.strictSame(made.map(answer => answer.status).sort(), [201, ...Array(9).fill(409)])
    t.ok(made.every(({ status, body }) => status === 201 || body.error === 'client_id_taken'))
    const first = made.find(answer => answer.status === 201)!.body
    const other = (await api.post('/v1/pods', {})).body
    const refused = await api.patch(`/v1/pods/${other.id}`, { clientId: 'twice' })
    t.strictSame([refused.status, refused.body.error], [409, 'client_id_taken'])
    await api.patch(`/v1/pods/${first.id}`, { clientId: null })
    t.equal((await api.patch(`/v1/pods/${other.id}`, { clientId: 'twice' })).status, 200)
    t.equal((await api.post('/v1/pods', {})).body.clientId, null, 'none is no duplicate of none')
  })

  await t.test('totals count what is there', async t => {
    const before = (await api.get('/v1/pods')).body.total
    const ids = []
    for (let i = 0; i < 3; i++) ids.push((await api.post('/v1/pods', {})).body.id)
    t.equal((await api.get('/v1/pods?limit=1')).body.total, before + 3)
    for (const id of ids) await api.delete(`/v1/pods/${id}`)
    const list = (await api.get('/v1/pods?limit=100')).body
    t.strictSame([list.total, list.data.length], [before, before])
  })

  await t.test('a pod that goes takes its keys along', async t => {
    const { id } = (await api.post('/v1/pods', {})).body
    const { token } = (await api.post(`/v1/pods/${id}/api-keys`, {})).body
    const inbox = (await api.post('/v1/inboxes', { podId: id })).body
    const inboxToken = (await api.post(`/v1/inboxes/${inbox.id}/api-keys`, {})).body.token
    await api.delete(`/v1/inboxes/${inbox.id}`)
    t.equal((await api.delete(`/v1/pods/${id}`)).status, 204)
    for (const gone of [token, inboxToken]) {
      t.equal((await server.apiWith(gone).get('/v1/inboxes')).status, 401)
    }
  })
  t.strictSame(server.faults, [])
})

t.test('keys', async t => {
  const server = await startApi(t)
  const { api, apiWith } = server
  const pod = (await api.post('/v1/pods', { clientId: 'keys' })).body
  const inbox = (await api.post('/v1/inboxes', { podId: pod.id })).body
  const targets = [
    { path: `/v1/pods/${pod.id}/api-keys`, scope: { podId: pod.id, inboxId: null } },
    { path: `/v1/inboxes/${inbox.id}/api-keys`, scope: { podId: pod.id, inboxId: inbox.id } },
  ]

  for (const { path, scope } of targets) {
    await t.test(path.replace(/[0-9a-f]{8}-[0-9a-f-]+/, '…'), async t => {
      const made = (await api.post(path, { name: 'first' })).body
      t.match(made.token, /^mbx_[0-9A-Za-z]{43}$/)
      t.match(made, { name: 'first', ...scope, lastUsedAt: null })
      t.strictSame([made.tokenPrefix, made.last4], [made.token.slice(0, 8), made.token.slice(-4)])
      const list = await api.get(path)
      const { token, ...masked } = made
      t.strictSame(list.body.data, [masked])
      t.notMatch(list.bytes.toString(), token)

      t.equal((await apiWith(token).get('/v1/inboxes')).status, 200)
      const used = async () => (await api.get(path)).body.data[0].lastUsedAt
      // The request does not wait for it to be noted.
      const first = await until('the first use noted', async () => (await used()) ?? undefined)
      t.match(first, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      await apiWith(token).get('/v1/inboxes')
      t.equal(await used(), first, 'noted once a minute')
      server.clock.advance(60_000)
      await apiWith(token).get('/v1/inboxes')
      await until('a later use noted', async () => (await used()) !== first)

      const raced = await Promise.all(Array.from({ length: 30 }, (_, i) => api.post(path, { name: `k${i}` })))
      t.equal(raced.filter(answer => answer.status === 201).length, 19, '20 together with the first')
      t.ok(
        raced.every(({ status, body }) => status === 201 || body.error === 'api_key_limit_reached'),
        'the others hear 422',
      )
      t.equal((await api.get(path)).body.data.length, 20)

      t.equal((await api.delete(`${path}/${made.id}`)).status, 204)
      const refused = await apiWith(token).get('/v1/inboxes')
      t.strictSame([refused.status, refused.body.error], [401, 'unauthorized'], 'at once')
      t.equal((await api.delete(`${path}/${made.id}`)).body.error, 'not_found', 'and once')
      t.notOk((await api.get(path)).body.data.some((key: { id: string }) => key.id === made.id))
      const next = await api.post(path, {})
      t.strictSame([next.status, next.body.name], [201, null], 'there is room again')
      t.equal((await api.delete(`${path}/${nothing}`)).status, 404)
      t.equal((await api.delete(`${path}/no-id`)).status, 404)
    })
  }

  await t.test('a key is revoked where it belongs, and nowhere else', async t => {
    const [podPath, inboxPath] = targets.map(target => target.path) as [string, string]
    const podKey = (await api.get(podPath)).body.data[0].id
    const inboxKey = (await api.get(inboxPath)).body.data[0].id
    t.equal((await api.delete(`${podPath}/${inboxKey}`)).status, 404)
    t.equal((await api.delete(`${inboxPath}/${podKey}`)).status, 404)
  })

  await t.test('deleting an inbox revokes its keys', async t => {
    await api.delete(`${targets[1]!.path}/${(await api.get(targets[1]!.path)).body.data[0].id}`)
    const { token } = (await api.post(targets[1]!.path, {})).body
    t.equal((await apiWith(token).get(`/v1/inboxes/${inbox.id}`)).status, 200)
    t.equal((await api.delete(`/v1/inboxes/${inbox.id}`)).status, 204)
    t.equal((await apiWith(token).get(`/v1/inboxes/${inbox.id}`)).status, 401)
    t.equal((await api.get(targets[1]!.path)).status, 404)
  })
  t.strictSame(server.faults, [])
})
