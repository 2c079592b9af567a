import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { StorageContended } from '../../../lib/base/faults.ts'
import { prepareReception } from '../../../lib/core/inbound/receive.ts'
import { createReceiver } from '../../../lib/core/inbound/receiver.ts'
import { resolveRecipient } from '../../../lib/core/inbound/recipient.ts'
import { writeReceptions } from '../../../lib/core/inbound/write.ts'
import { createReceptionWriter } from '../../../lib/core/inbound/write-together.ts'
import { startApi } from '../../support/api-app.ts'

t.test('what waits is written together, but for so many and so large at once', async t => {
  const { app, api } = await startApi(t)
  t.equal((await api.post('/v1/inboxes', { mailboxName: 'ann' })).status, 201)
  let writes = 0
  const counted = {
    ...app,
    store: {
      ...app.store,
      writeHolding: ((...args) => {
        writes++
        return app.store.writeHolding(...args)
      }) as typeof app.store.writeHolding,
    },
  }
  const writeReception = createReceptionWriter(counted)
  const receiver = createReceiver(app)
  const prepare = async (n: number, text: string) =>
    prepareReception(receiver, {
      sessionId: 's',
      mailFrom: 'bob@example.net',
      recipients: [await resolveRecipient(app, 'ann@ours.example')],
      content: {
        kind: 'memory',
        bytes: Buffer.from(
          `From: bob@example.net\r\nSubject: ${n}\r\nContent-Type: text/html\r\n\r\n${text}`,
        ),
      },
      peer: { kind: 'local' },
    })
  /** How many writes it takes to write so many that come at once. */
  const writesOf = async (count: number, text: string) => {
    const receptions = await Promise.all(Array.from({ length: count }, (_, n) => prepare(n, text)))
    writes = 0
    const ids = await Promise.all(receptions.map(writeReception))
    t.equal(new Set(ids.flat()).size, count)
    return writes
  }
  // The first one may be written before the others have come.
  t.ok([1, 2].includes(await writesOf(12, 'Hello\r\n')))
  t.ok((await writesOf(150, 'Hello\r\n')) >= 3, 'no more than so many')
  // 240 kB of HTML, as much of text and of raw: three of them are more than a write takes, and it would be eight of one of these alone.
  t.ok((await writesOf(12, `${'x'.repeat(998)}\r\n`.repeat(240))) >= 4, 'nor more bytes')
})

t.test('where an inbox of some is kept locked, each is written alone, and who is alone waits', async t => {
  const { app, api } = await startApi(t)
  const receiver = createReceiver(app)
  const prepare = async (name: string) => {
    await api.post('/v1/inboxes', { mailboxName: name })
    return prepareReception(receiver, {
      sessionId: 's',
      mailFrom: 'bob@example.net',
      recipients: [await resolveRecipient(app, `${name}@ours.example`)],
      content: { kind: 'memory', bytes: Buffer.from('From: bob@example.net\r\n\r\nHello\r\n') },
      peer: { kind: 'local' },
    })
  }
  const free = Promise.withResolvers<void>()
  const [ann, ben] = [await prepare('ann'), await prepare('ben')]
  const lockedId =
    'becomes' in ann && 'arrival' in ann.becomes ? ann.becomes.arrival.recipients[0]!.inboxId : ''
  const asked: string[] = []
  /** As a server does while somebody keeps the row of ann's inbox. */
  const writeHolding: typeof app.store.writeHolding = async (holds, work) => {
    // When it begins, as there.
    await nextTurn()
    const { inboxes, isDivisible } = holds()
    asked.push(`${inboxes!.length} ${isDivisible === true}`)
    if (inboxes!.includes(lockedId)) {
      if (isDivisible) throw new StorageContended(new Error('locked'), '55P03')
      await free.promise
    }
    return app.store.write(work)
  }
  const write = createReceptionWriter({ ...app, store: { ...app.store, writeHolding } })
  const [first, second] = [write(ann), write(ben)]
  t.equal((await second).length, 1)
  t.strictSame(asked.splice(0), ['2 true', '1 false', '1 false'])
  free.resolve()
  t.equal((await first).length, 1)
  t.equal((await write(await prepare('cid'))).length, 1)
  t.strictSame(asked, ['1 false'])
})

t.test('messages of one thread that are written together all add their participants', async t => {
  const { app, api } = await startApi(t)
  await api.post('/v1/inboxes', { mailboxName: 'agent' })
  const receiver = createReceiver(app)
  const prepare = async (id: string, ...fields: readonly string[]) =>
    prepareReception(receiver, {
      sessionId: 's',
      mailFrom: 'ann@friend.example',
      recipients: [await resolveRecipient(app, 'agent@ours.example')],
      content: {
        kind: 'memory',
        bytes: Buffer.from(
          ['From: ann@friend.example', `Message-ID: <${id}@friend.example>`, ...fields, '', 'Hello', ''].join(
            '\r\n',
          ),
        ),
      },
      peer: { kind: 'local' },
    })
  const reply = 'In-Reply-To: <1@friend.example>'
  const receptions = [
    await prepare('1', 'Cc: first@friend.example'),
    await prepare('2', reply, 'Cc: second@friend.example'),
    await prepare('3', reply, 'Cc: third@friend.example'),
    await prepare('4', reply, 'Cc: fourth@friend.example'),
  ]
  const participants = async () => {
    const threads = await app.store.read.selectFrom('thread').select('participants').execute()
    t.equal(threads.length, 1)
    return JSON.parse(threads[0]!.participants!)
  }
  // The first two begin the thread in one write, and the others continue it in another one.
  await app.store.write(db => writeReceptions(app, db, receptions.slice(0, 2)))
  const [ann, first, second] = ['ann', 'first', 'second'].map(name => `${name}@friend.example`)
  t.strictSame(await participants(), [ann, first, second])
  await app.store.write(db => writeReceptions(app, db, receptions.slice(2)))
  t.strictSame(await participants(), [ann, first, second, 'third@friend.example', 'fourth@friend.example'])
})
