import t from 'tap'
import { waitsPerKey } from '../../lib/core/mailbox/waiters.ts'
import { listBytes } from '../../lib/store/listed-messages.ts'
import { letter, openBothDoors } from '../support/both-doors.ts'
import { turnsDuring } from '../support/event-loop.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { until } from '../support/until.ts'

const mebibyte = 1024 * 1024
/** Text in lines of 990 characters, of words that are all others. */
const textOf = (bytes: number, name: string) =>
  Array.from({ length: Math.ceil(bytes / 992) }, (_, n) => `${name}${n} `.padEnd(990, 'x')).join('\r\n')

const crowd = 100
const wideMails = 3
const wideBytes = 200_000
const threadMails = 8

t.test('one mail to very many, very long threads and very many who wait hold up nobody else', async t => {
  const doors = await openBothDoors(t, { sessionTimeoutMs: 600_000 })
  const { app, port, api } = doors
  const many: string[] = []
  for (let n = 0; n < crowd; n++) many.push(await doors.inbox(`crowd${n}`))
  const eve = await doors.inbox('eve')
  const ann = await doors.inbox('ann')
  const everybody = many.map((_, n) => `crowd${n}@ours.example`)
  let largestRss = 0
  let bytes = 0
  const isDone = { now: false }

  const sends = async (subject: string, more: string, text: string, to: readonly string[]) => {
    const dialog = await greetedDialog(port)
    await dialog.envelope('eve@evil.example', ...to)
    const { code, text: said } = await dialog.data(
      `From: eve@evil.example\r\nSubject: ${subject}\r\n${more}\r\n${text}`,
    )
    // Where too much is being read, a stranger waits.
    if (code !== 250 && code !== 451) t.fail(`${subject}: ${said}`)
    bytes += text.length
    dialog.end()
    return code
  }
  const wide = async () => {
    const codes = await Promise.all([
      ...Array.from({ length: wideMails }, (_, n) =>
        sends(`wide${n}`, '', textOf(wideBytes, `wide${n}`), everybody),
      ),
      sends('widest', '', textOf(mebibyte, 'widest'), everybody),
    ])
    return codes.filter(code => code === 250).length
  }
  const long = async () => {
    let taken = 0
    for (let n = 0; n < threadMails; n++) {
      const header = `Message-ID: <long${n}@evil.example>\r\nReferences: <long0@evil.example>\r\n`
      if ((await sends('long', header, textOf(mebibyte, `long${n}`), ['eve@ours.example'])) === 250) taken++
    }
    return taken
  }
  const asks = async () => {
    while (!isDone.now) {
      const { status, body } = await api.get(`/v1/inboxes/${eve}/threads`)
      if (status !== 200) t.fail(`threads: ${status}`)
      const paths = (body.data as { id: string }[]).map(({ id }) => `/v1/threads/${id}/messages`)
      const answers = await Promise.all([...paths, ...paths, ...paths].map(path => api.get(path)))
      for (const answer of answers) {
        if (answer.status !== 200) t.fail(`thread: ${answer.status}`)
        if (answer.bytes.length > listBytes + mebibyte) t.fail(`a thread of ${answer.bytes.length} bytes`)
      }
    }
  }
  /** As many as a key may have, and as many again. */
  const waits = async () => {
    const path = `/v1/inboxes/${many[0]}/messages/wait?timeout=300`
    const waiting = Array.from({ length: 2 * waitsPerKey }, () => api.get(path))
    await until('as many wait as may', () => app.waiters.count() === waitsPerKey)
    return waiting
  }

  const waiting = await waits()
  const { result, turns } = await turnsDuring(async () => {
    const good = (async () => {
      for (let number = 0; !isDone.now || number < 10; number++) {
        await doors.receive('ann', letter(`good ${number}`))
        const { status } = await api.get('/health')
        if (status !== 200) t.fail(`health: ${status}`)
        largestRss = Math.max(largestRss, process.memoryUsage.rss())
      }
    })()
    const asking = asks()
    const taken = await Promise.all([wide(), long()]).finally(() => {
      isDone.now = true
    })
    await Promise.all([good, asking])
    return taken
  })

  const [wideTaken, longTaken] = result
  t.ok(wideTaken > 0 && longTaken > 0, `${wideTaken} wide and ${longTaken} long ones were taken`)
  const { total } = (await api.get(`/v1/inboxes/${ann}/messages?limit=1`)).body
  t.ok(total >= 10, `${total} good mails`)
  const answers = await Promise.all(waiting)
  const statuses = answers.map(({ status }) => status)
  t.equal(statuses.filter(status => status === 429).length, waitsPerKey, 'no more wait than may')
  t.ok(
    answers.every(({ status, body }) => status === 429 || (status === 200 && body.data.length > 0)),
    'who waits is told what came',
  )

  const { body: threads } = await api.get(`/v1/inboxes/${eve}/threads`)
  const { body: whole, bytes: answered } = await api.get(`/v1/threads/${threads.data[0].id}/messages`)
  t.ok(
    whole.data.some((one: { bodyTruncated?: boolean }) => one.bodyTruncated),
    'a long thread is cut, and says so',
  )
  t.ok(answered.length <= listBytes + mebibyte, `${answered.length} bytes of a thread`)

  // What a mail says is stored once, however many it is for.
  const texts = await app.store.read
    .selectFrom('message')
    .innerJoin('reading', 'reading.id', 'message.readingId')
    .select(['message.subject', 'reading.id'])
    .where('message.subject', 'like', 'wide%')
    .execute()
  t.equal(texts.length, wideTaken * crowd)
  t.equal(new Set(texts.map(({ id }) => id)).size, wideTaken)
  // The bytes of strangers come in pieces, and what is done for each of very many is done in turns.
  t.ok(
    turns > bytes / mebibyte + texts.length / crowd,
    `${turns} turns for ${Math.round(bytes / mebibyte)} MB`,
  )
  t.ok(largestRss < 1024 * mebibyte, `${Math.round(largestRss / mebibyte)} MB at the most`)
  t.strictSame(
    doors.log.filter(({ level }) => level === 'error'),
    [],
  )
})
