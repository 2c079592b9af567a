import { connect } from 'node:net'
import t from 'tap'
import { letter, openBothDoors } from '../support/both-doors.ts'
import { turnsDuring } from '../support/event-loop.ts'
import { sendRaw } from '../support/raw-http.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { until } from '../support/until.ts'

const half = 512 * 1024
const html = (body: string) => `Content-Type: text/html; charset=utf-8\r\n\r\n${body}`
/** Text in lines of at most 990 characters. */
const lines = (text: string, length: number) =>
  `${text.repeat(Math.floor(980 / text.length))}\r\n`.repeat(Math.ceil(length / 980))

/** Messages that once held the daemon for seconds, or took its memory. */
const messages: Record<string, string> = {
  attributions: `\r\n${lines('on 2020 1č', half)}x:`,
  spaces: `\r\nfrom${lines(' ', half)}`,
  elements: html(lines('<div id= ', half)),
  openElements: html(lines('<b><i><p>', half)),
  headings: html(lines('<h1>a</h1>', half)),
  softBreaks: `Content-Transfer-Encoding: quoted-printable\r\n\r\n${'=\r\n'.repeat(700_000)}`,
  codesAndLinks: `\r\n${lines('code 482913 https://x.example/?a=b&c=d ', half)}`,
  delimiters: `Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\nx\r\n'.repeat(40_000)}`,
  nested: `${Array.from({ length: 200 }, (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`).join('')}\r\nx`,
  innerHeader: `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nTo: g:${'a@b.example,\r\n '.repeat(18_000)};\r\n\r\nx\r\n--b--`,
  signatures: `${'DKIM-Signature: v=1; a=rsa-sha256; d=x.example; s=s; h=from; l=1; bh=AA==; b=AA==\r\n'.repeat(10)}\r\n${lines(' ', 2 * half)}`,
}

const form = (part: string, content: string) =>
  `--bbb\r\nContent-Disposition: form-data; ${part}\r\n\r\n${content}\r\n--bbb--\r\n`
const attached = (content: string) =>
  `{"to":"bob@example.net","subject":"x","body":"x","attachments":[{"filename":"a","content":"${content}"}]}`
const many = 2 * half

/** Bodies that are read to their end, or nearly so, and refused. */
const bodies: Record<string, string> = {
  deep: '['.repeat(4 * half),
  keys: `{${Array.from({ length: 300_000 }, (_, n) => `"k${n}":1`).join(',')}}`,
  values: `{"cc":[${'1,'.repeat(500_000)}1]}`,
  text: JSON.stringify({ to: 'bob@example.net', subject: 'x', body: 'x'.repeat(18 * half) }),
  contents: attached(`${'QUJD'.repeat(many / 4)}!`),
  escapes: attached(`${'\\u0051'.repeat(many / 6)}!`),
  quotes: attached('\\"'.repeat(many / 2)),
  manyContents: attached(`${`${'QUJD'.repeat(25_000)}"},{"filename":"a","content":"`.repeat(20)}!`),
  formOfText: form('name="body"', 'x'.repeat(many)),
  formOfDelimiters: form('name="attachments"; filename="a"', '\r\n--bb'.repeat(many / 6)),
  formOfParts: form('name="cc"', 'x'.repeat(20_000))
    .replace(/--bbb--/, '')
    .repeat(390),
}

const rounds = 2
const mebibyte = 1024 * 1024

t.test('mail and requests that are made to cost, all at once, hold up nobody else', async t => {
  // On a busy machine the good mail's session takes long.
  const doors = await openBothDoors(t, { sessionTimeoutMs: 600_000 })
  const { port, httpPort, token, api } = doors
  const eve = await doors.inbox('eve')
  const ann = await doors.inbox('ann')
  let largestRss = 0
  let bytes = 0
  const isDone = { now: false }

  const sends = async (name: string, content: string) => {
    for (let round = 0; round < rounds; round++) {
      const dialog = await greetedDialog(port)
      await dialog.envelope('eve@evil.example', 'eve@ours.example')
      const { code, text } = await dialog.data(
        `From: eve@evil.example\r\nSubject: ${name}\r\n${content.replaceAll(/^\./gm, '..')}`,
      )
      // Taken, or refused for its header: nothing else.
      if (code !== 250 && code !== 552) t.fail(`${name}: ${code} ${text}`)
      bytes += content.length
      dialog.end()
    }
  }
  const posts = async (name: string, body: string) => {
    for (let round = 0; round < rounds; round++) {
      const path = `/v1/inboxes/${eve}/send`
      const type = body.startsWith('--') ? 'multipart/form-data; boundary=bbb' : 'application/json'
      const headers = [
        `Authorization: Bearer ${token}`,
        `Content-Type: ${type}`,
        `Idempotency-Key: ${name}${round}`,
      ]
      const { status } = await sendRaw(httpPort, { method: 'POST', path, headers, body })
      if (status !== 400 && status !== 413) t.fail(`${name}: ${status}`)
      bytes += body.length
    }
  }
  const lists = async () => {
    while (!isDone.now) {
      const pages = Array.from({ length: 5 }, () => api.get(`/v1/inboxes/${eve}/messages?limit=100`))
      for (const { status } of await Promise.all(pages)) if (status !== 200) t.fail(`list: ${status}`)
    }
  }
  /** It asks and does not read. */
  const asks = async () => {
    const sockets = Array.from({ length: 50 }, () => connect(httpPort, '127.0.0.1').on('error', () => {}))
    for (const socket of sockets)
      socket.pause().write('GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20))
    await until('the end', () => isDone.now, 300_000)
    for (const socket of sockets) socket.destroy()
  }

  const { turns } = await turnsDuring(async () => {
    const hostile = [
      ...Object.entries(messages).map(([name, content]) => sends(name, content)),
      ...Object.entries(bodies).map(([name, body]) => posts(name, body)),
    ]
    const ongoing = [lists(), asks()]
    const good = (async () => {
      for (let number = 0; !isDone.now || number < 10; number++) {
        await doors.receive('ann', letter(`good ${number}`))
        const { status } = await api.get('/health')
        if (status !== 200) t.fail(`health: ${status}`)
        largestRss = Math.max(largestRss, process.memoryUsage.rss())
      }
    })()
    await Promise.all(hostile).finally(() => {
      isDone.now = true
    })
    await Promise.all([good, ...ongoing])
  })

  const { data, total } = (await api.get(`/v1/inboxes/${ann}/messages?limit=100`)).body
  t.ok(total >= 10, `${total} good mails`)
  t.ok(
    data.every((one: { subject: string; verdict: string }) => /^good \d+$/.test(one.subject)),
    'each good mail is there',
  )
  const ofEve = (await api.get(`/v1/inboxes/${eve}/messages?limit=100`)).body
  t.ok(ofEve.total >= (Object.keys(messages).length - 2) * rounds, `${ofEve.total} hostile ones were taken`)
  // The bytes of strangers come in pieces, and no turn of the event loop does more than a megabyte's work.
  t.ok(turns > bytes / mebibyte, `${turns} turns for ${Math.round(bytes / mebibyte)} MB`)
  t.ok(largestRss < 1024 * mebibyte, `${Math.round(largestRss / mebibyte)} MB at the most`)
  t.strictSame(
    doors.log.filter(({ level }) => level === 'error'),
    [],
  )
})
