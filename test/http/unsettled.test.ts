import t from 'tap'
import { startApi } from '../support/api-app.ts'

t.test(
  'while the disk does not keep what was written, who reads is refused in time and who writes waits',
  async t => {
    const { app, api } = await startApi(t)
    const disk = Promise.withResolvers<void>()
    let held: Promise<void> | undefined = disk.promise
    const podId = (await api.post('/v1/pods', { name: 'theirs' })).body.id
    t.capture(app.store, 'settled', () => held)
    let isAnswered = false
    const written = api.post('/v1/inboxes', { podId }).finally(() => {
      isAnswered = true
    })
    const read = await api.get('/v1/inboxes')
    t.match(read, {
      status: 503,
      body: { error: 'unavailable', message: /^The disk of this server does not keep what is written/ },
    })
    t.equal((await api.get('/v1/openapi.json')).status, 200, 'what shows no rows does not wait')
    t.notOk(isAnswered, 'what may be done already is not told to be tried again')
    held = undefined
    disk.resolve()
    t.match(await written, { status: 201 })
  },
)
