import t from 'tap'
import { createKey } from '../../lib/core/account/keys.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { streamWindowBytes } from '../../lib/core/events/window.ts'
import { startApi } from '../support/api-app.ts'
import { takesAll } from '../support/event-sink.ts'
import { createEventWriter } from '../support/event-writer.ts'
import { openSocket, type SocketClient } from '../support/socket-client.ts'
import { nextTick } from '../support/stream-ticks.ts'
import { until } from '../support/until.ts'

t.test('last_event_id brings what came later, in order, all of it', async t => {
  const { api, app, baseUrl, token, faults } = await startApi(t)
  const pod = (await api.post('/v1/pods', {})).body.id
  const podToken = (await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token
  const one = (await api.post('/v1/inboxes', {})).body
  const two = (await api.post('/v1/inboxes', { podId: pod })).body
  const three = (await api.post('/v1/inboxes', { podId: pod })).body
  const writer = createEventWriter(app)
  const subjects = [one, two, three, undefined]
  const types = ['message.received', 'message.sent', 'message.failed'] as const
  const of = (number: number) => ({ subject: subjects[number % 4], type: types[number % 3]! })
  const count = 1500
  for (let number = 1; number <= count; number++) {
    const { subject, type } = of(number)
    await writer.write(subject, type)
  }
  const all = (await app.store.read.selectFrom('event').selectAll().orderBy('id').execute()).map(
    row => row.id,
  )
  const zero = '00000000-0000-7000-8000-000000000000'
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  const cases: [key: string, asked: object, wanted: (number: number) => boolean][] = [
    [token, { last_event_id: all[0] }, number => number > 1],
    [token, { last_event_id: all[699]!.toUpperCase() }, number => number > 700],
    [token, { last_event_id: all[1400] }, number => number > 1401],
    [token, { last_event_id: all[0], inbox_ids: [one.id] }, number => of(number).subject === one],
    [
      token,
      { last_event_id: all[9], inbox_ids: [one.id, three.id], event_types: [types[1]] },
      number => number > 10 && [one, three].includes(of(number).subject) && of(number).type === types[1],
    ],
    [
      token,
      { last_event_id: all[0], event_types: [types[0], types[2]] },
      number => number > 1 && of(number).type !== types[1],
    ],
    [podToken, { last_event_id: all[0] }, number => number > 1 && [two, three].includes(of(number).subject)],
    [
      podToken,
      { last_event_id: all[0], event_types: [types[0]] },
      number => number > 1 && [two, three].includes(of(number).subject) && of(number).type === types[0],
    ],
  ]
  for (const [key, asked, wanted] of cases) {
    const client = await openSocket(t, baseUrl, key)
    await client.ask({ type: 'subscribe', ...asked })
    const expected = numbers.filter(wanted)
    await client.told(expected.length)
    await client.ask({ type: 'ping' })
    t.strictSame(client.numbers, expected, JSON.stringify(asked))
    client.socket.terminate()
  }

  await t.test('a second subscription begins earlier', async t => {
    const client = await openSocket(t, baseUrl, token)
    await client.ask({ type: 'subscribe', inbox_ids: [one.id], last_event_id: all[999] })
    const first = numbers.filter(number => number > 1000 && of(number).subject === one)
    await client.told(first.length)
    await client.ask({ type: 'subscribe', last_event_id: all[499] })
    const second = numbers.filter(number => number > 500 && !first.includes(number))
    await client.told(first.length + second.length)
    await client.ask({ type: 'ping' })
    t.strictSame(client.numbers, [...first, ...second], 'nothing twice')
  })

  await t.test('subscriptions that come while a replay finds nothing', async t => {
    const empty = (await api.post('/v1/inboxes', {})).body
    const expected = numbers.slice(1400)
    // The window is there before the first, and stays.
    const keeper = await openSocket(t, baseUrl, token)
    await nextTick(app)
    for (let pauses = 0; pauses < 40; pauses++) {
      const told: string[] = []
      const { reader, close } = app.stream.open(operator, {
        ...takesAll,
        write: event => void told.push(event.id),
      })
      const choose = { types: null, after: zero }
      reader.add({ ...choose, inboxIds: new Set([empty.id]) })
      for (let i = 0; i < pauses; i++) await Promise.resolve()
      reader.add({ ...choose, inboxIds: null, after: all[1399]! })
      await until('all events', () => told.length >= expected.length)
      t.strictSame(told, all.slice(1400), `after ${pauses} turns`)
      close()
    }
    keeper.socket.terminate()
  })

  await t.test('a cursor that the key can not know is told, and it goes on from now', async t => {
    const foreign = all[numbers.find(number => of(number).subject === one)! - 1]!
    for (const [key, cursor] of [
      [token, 'ffffffff-ffff-7fff-bfff-ffffffffffff'],
      [token, zero],
      [token, 'x'],
      [token, ''],
      [podToken, foreign],
    ] as const) {
      const client = await openSocket(t, baseUrl, key)
      t.match(
        await client.ask({ type: 'subscribe', last_event_id: cursor }),
        {
          type: 'error',
          message: /last_event_id/,
          details: [{ path: '/last_event_id', message: /from now on/ }],
        },
        cursor,
      )
      await until('the subscription', () => client.said.at(-1)?.type === 'subscribed')
      await writer.write(two)
      await client.told(1)
      t.strictSame(client.numbers, [writer.last])
      client.socket.terminate()
    }
  })
  t.strictSame(faults, [])
})

t.test('a replay joins what is being written, without a gap and with nothing twice', async t => {
  const { api, app, baseUrl, faults } = await startApi(t)
  const inboxes = await Promise.all([1, 2, 3].map(async () => (await api.post('/v1/inboxes', {})).body))
  const writer = createEventWriter(app)
  const written: Promise<void>[] = []
  let isWriting = true
  const write = () => written.push(writer.write(inboxes[written.length % 3], 'message.received', 3))
  for (let i = 0; i < 100; i++) write()
  await Promise.all(written)
  const writing = (async () => {
    while (isWriting) {
      write()
      write()
      await written.at(-1)
    }
  })()
  const clients: { client: SocketClient; from: string | undefined; inboxes: string[] | undefined }[] = []
  for (let n = 0; n < 40; n++) {
    const { token } = await createKey(app, operator, { account: true }, null)
    const client = await openSocket(t, baseUrl, token)
    const known = await app.store.read.selectFrom('event').select('id').orderBy('id').execute()
    // From the first of all to the one that was written this moment, and none.
    const from = n % 5 === 4 ? undefined : known[Math.floor((known.length - 1) * (n / 39))]!.id
    const chosen = n % 3 === 0 ? [inboxes[0].id, inboxes[1].id] : undefined
    client.say({
      type: 'subscribe',
      ...(from && { last_event_id: from }),
      ...(chosen && { inbox_ids: chosen }),
    })
    await until('an event', () => client.events.length > 0)
    clients.push({ client, from, inboxes: chosen })
  }
  isWriting = false
  await writing
  await Promise.all(written)
  const rows = await app.store.read.selectFrom('event').selectAll().orderBy('id').execute()
  t.ok(rows.length > 1000, `${rows.length} events`)
  for (const { client, from, inboxes } of clients) {
    const last = rows.findLast(row => !inboxes || inboxes.includes(row.inboxId!))!.id
    await until('the last event', () => client.events.at(-1)?.event_id === last)
    // Without a cursor it begins with the first that it got.
    const first = from ? rows.findIndex(row => row.id > from) : 0
    const expected = rows.slice(first).filter(row => !inboxes || inboxes.includes(row.inboxId!))
    const told = client.events.map(event => event.event_id)
    const begin = from ? 0 : expected.findIndex(row => row.id === told[0])
    if (JSON.stringify(told) !== JSON.stringify(expected.slice(begin).map(row => row.id))) {
      t.fail(`from ${from}: ${told.length} told of ${expected.length - begin}`)
    }
  }
  t.strictSame(faults, [])
})

t.test('who falls out of the window goes on from the table', async t => {
  const { api, app, baseUrl, token, faults } = await startApi(t)
  const inbox = (await api.post('/v1/inboxes', {})).body
  const writer = createEventWriter(app)
  const [fast, slow] = [await openSocket(t, baseUrl, token), await openSocket(t, baseUrl, token)]
  for (const client of [fast, slow]) await client.ask({ type: 'subscribe' })
  slow.socket.pause()
  // More than the window holds, and more than the system keeps for a connection.
  const text = 'x'.repeat(400_000)
  const batch = 4
  const batches = Math.ceil((streamWindowBytes * 1.5) / text.length / batch)
  const count = batches * batch
  for (let i = 0; i < batches; i++) await writer.write(inbox, 'message.received', batch, text)
  await fast.told(count)
  slow.socket.resume()
  await slow.told(count)
  t.strictSame(slow.numbers, fast.numbers)
  t.strictSame(faults, [])
})
