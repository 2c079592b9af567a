import { request } from 'node:http'
import t from 'tap'
import { Type } from 'typebox'
import { formTextBytes } from '../../lib/api/sending.ts'
import { sliceBytes } from '../../lib/base/concurrency.ts'
import { attachmentsBytes } from '../../lib/base/problem.ts'
import { Contents } from '../../lib/http/contents.ts'
import { readForm } from '../../lib/http/form.ts'
import { startApi } from '../support/api-app.ts'
import { turnsDuring } from '../support/event-loop.ts'

type Entry = [name: string, value: string | Buffer, filename?: string, type?: string]

function formOf(entries: readonly Entry[]): FormData {
  const form = new FormData()
  for (const [name, value, filename, type] of entries) {
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, new File([new Uint8Array(value)], filename ?? '', type ? { type } : {}))
  }
  return form
}

const letter: Entry[] = [
  ['to', 'bob@example.net'],
  ['subject', 'Grüße'],
  ['body', 'Hi\r\nBob'],
]

t.test('multipart/form-data', async t => {
  const server = await startApi(t)
  const { api, baseUrl, token, faults } = server
  const inbox = (await api.post('/v1/inboxes', {})).body.id
  let sent = 0
  const post = async (
    body: string | FormData | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = {},
    path = 'send',
  ) => {
    const answer = await fetch(`${baseUrl}/v1/inboxes/${inbox}/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'idempotency-key': `key ${sent++}`, ...headers },
      body,
    })
    return { status: answer.status, body: JSON.parse(await answer.text()) }
  }
  const lines = (text: string, boundary = 'bbb') =>
    post(text.replaceAll('\n', '\r\n'), { 'content-type': `multipart/form-data; boundary=${boundary}` })
  const newest = async () => (await api.get(`/v1/inboxes/${inbox}/messages?limit=1`)).body.data[0]

  await t.test('is the same send as JSON', async t => {
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 256))
    const form = formOf([
      ...letter,
      ['cc', 'carol@example.net'],
      ['cc', 'dave@example.net'],
      ['bcc', '["eve@example.net"]'],
      ['autoSubmitted', 'true'],
      ['attachments', bytes, 'Übersicht.bin', 'application/x-thing'],
      ['attachments', Buffer.from('hi'), 'a.txt', 'text/plain'],
    ])
    const { status } = await post(form, { 'idempotency-key': 'same' })
    t.equal(status, 200)
    const message = await newest()
    t.match(message, {
      ...{ toAddr: 'bob@example.net', subject: 'Grüße', cc: ['carol@example.net', 'dave@example.net'] },
      ...{ bcc: ['eve@example.net'], bodyText: /^Hi\r?\nBob/ },
      attachments: [
        { filename: 'Übersicht.bin', contentType: 'application/x-thing', sizeBytes: 70_000 },
        { filename: 'a.txt', contentType: 'text/plain', sizeBytes: 2 },
      ],
    })
    t.ok((await api.get(message.attachments[0].url)).bytes.equals(bytes))
    const asJson = {
      ...{ to: 'bob@example.net', subject: 'Grüße', body: 'Hi\r\nBob', autoSubmitted: true },
      ...{ cc: ['carol@example.net', 'dave@example.net'], bcc: ['eve@example.net'] },
      attachments: [
        { filename: 'Übersicht.bin', contentType: 'application/x-thing', content: bytes.toString('base64') },
        { filename: 'a.txt', contentType: 'text/plain', content: 'aGk=' },
      ],
    }
    t.equal((await api.send(inbox, asJson, 'same')).body.messageId, message.id, 'one key, one request')
    t.equal((await post(formOf([...letter, ['cc', 'carol@example.net']]))).status, 200)
    t.strictSame((await newest()).cc, ['carol@example.net'], 'one is a list, too')
  })

  await t.test('a draft', async t => {
    const file: Entry = ['attachments', Buffer.from('hi'), 'a.txt', 'text/plain']
    const { status, body } = await post(formOf([...letter, file]), {}, 'drafts')
    t.equal(status, 201)
    t.match(body, { to: ['bob@example.net'], attachments: [{ filename: 'a.txt', sizeBytes: 2 }] })
  })

  await t.test('is validated as JSON is', async t => {
    for (const [entries, path] of [
      [[['subject', 's']], '/body'],
      [[...letter, ['subject', 'twice']], '/subject'],
      [[...letter, ['autoSubmitted', 'yes']], '/autoSubmitted'],
      [[...letter, ['nothing', 'x']], '/nothing'],
      [[...letter, ['__proto__', 'x']], '/__proto__'],
      [[...letter, ['constructor', 'x']], '/constructor'],
      [[...letter, ['attachments', 'text']], '/attachments/0'],
      [[...letter, ['replyTo', Buffer.from('x'), 'f']], '/replyTo'],
      [[...letter, ['attachments', Buffer.from('x'), '']], '/attachments/0'],
      [[...letter, ['cc', '[1]']], '/cc/0'],
      [[...letter, ['subject\0', 'x']], undefined],
    ] as [Entry[], string | undefined][]) {
      const { status, body } = await post(formOf(entries))
      t.strictSame([status, body.error], [400, 'invalid_request'], String(path))
      if (path)
        t.ok(
          body.details.some((fault: { path: string }) => fault.path === path),
          JSON.stringify(body),
        )
    }
    const many = Array.from({ length: 1000 }, (): Entry => ['cc', 'carol@example.net'])
    t.match((await post(formOf(many))).body, { error: 'invalid_request', message: /more than 400 parts/ })
  })

  await t.test('what looks like a delimiter is content', async t => {
    const content = 'a --bbb\r\n--bb\r\n --bbb\n--bbb--'
    const text = `\n--bbb\nContent-Disposition: form-data; name="body"\n\n%\n--bbb--\nepilogue`
    const parts = letter.slice(0, 2).map(([name, value]) => {
      return `--bbb\nContent-Disposition: form-data; name="${name}"\n\n${value}`
    })
    const body = `preamble\n${parts.join('\n')}${text}`.replaceAll('\n', '\r\n').replace('%', content)
    const { status } = await post(body, { 'content-type': 'multipart/form-data; boundary="bbb"' })
    t.equal(status, 200)
    t.equal((await newest()).bodyText, content)
    const empty = '--bbb\r\nContent-Disposition: form-data; name="to"\r\n\r\n--bbb--'
    const nobody = await post(empty, { 'content-type': 'multipart/form-data; boundary=bbb' })
    t.equal(nobody.body.error, 'invalid_request')
  })

  await t.test('what is no form', async t => {
    const part = '--bbb\nContent-Disposition: form-data; name="to"\n\nbob@example.net\n'
    for (const [text, boundary] of [
      ['', 'bbb'],
      ['--bbb--', 'other'],
      [part, 'bbb'],
      [`${part}--bbb`, 'bbb'],
      ['--bbb\nContent-Disposition: form-data\n\nx\n--bbb--\n', 'bbb'],
      ['--bbb\nContent-Type: text/plain\n\nx\n--bbb--\n', 'bbb'],
      ['--bbb\nnonsense\n\nx\n--bbb--\n', 'bbb'],
      [
        '--bbb\nContent-Disposition: form-data; name="to"\nContent-Transfer-Encoding: base64\n\nQUJD\n--bbb--\n',
        'bbb',
      ],
      ['--bbbb\nContent-Disposition: form-data; name="to"\n\nx\n--bbb--\n', 'bbb'],
      [`--bbb\nX: ${'y'.repeat(8192)}\nContent-Disposition: form-data; name="to"\n\nx\n--bbb--\n`, 'bbb'],
      [`${part}--bbb--\n`, ''],
      [`${part}--bbb--\n`, '""'],
      [`${part}--bbb--\n`, 'b'.repeat(71)],
      [`${part}--bbb--\n`, 'bbb; boundary=ccc'],
    ] as [string, string][]) {
      const { status, body } = await lines(text, boundary)
      t.strictSame([status, body.error], [400, 'invalid_request'], JSON.stringify([text, boundary]))
    }
    // RFC 2046 §5.1.1: what is within it is read, and what is not is told by that, whatever else is wrong.
    const whole = (length: number) => {
      const boundary = 'b'.repeat(length)
      return lines(`${part.replace('bbb', boundary)}--${boundary}--\n`, boundary)
    }
    t.match((await whole(71)).body.message, /boundary must have 1 to 70 characters/)
    t.notMatch((await whole(70)).body.message, /boundary/)
    t.match((await lines(part, '""')).body.message, /boundary must have 1 to 70 characters/)
    const none = await post('x', { 'content-type': 'multipart/form-data' })
    t.equal(none.body.error, 'invalid_request')
    t.equal((await post('x', { 'content-type': 'multipart/mixed; boundary=a' })).status, 415)
    const elsewhere = await fetch(`${baseUrl}/v1/inboxes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: formOf([['mailboxName', 'x']]),
    })
    t.equal(elsewhere.status, 415, 'only where files are taken')
    const badText = new Uint8Array(
      Buffer.concat([
        Buffer.from('--bbb\r\nContent-Disposition: form-data; name="body"\r\n\r\n'),
        Buffer.from([0xff, 0xfe, 0]),
        Buffer.from('\r\n--bbb--\r\n'),
      ]),
    )
    const bad = await post(badText, { 'content-type': 'multipart/form-data; boundary=bbb' })
    t.equal(bad.body.error, 'invalid_request')
  })

  await t.test('too large', async t => {
    const file = (bytes: number): Entry => ['attachments', Buffer.alloc(bytes, 'x'), 'a.bin']
    t.equal((await post(formOf([...letter, file(attachmentsBytes)]))).status, 200)
    const over = await post(formOf([...letter, file(attachmentsBytes + 1)]))
    t.strictSame([over.status, over.body.error], [413, 'attachments_too_large'])
    const far = await post(formOf([...letter, file(attachmentsBytes + formTextBytes)]))
    t.strictSame([far.status, far.body.error], [413, 'payload_too_large'])
    const text = formOf([...letter, ['bodyHtml', 'x'.repeat(formTextBytes)]])
    const long = await post(text)
    t.strictSame([long.status, long.body.error], [413, 'payload_too_large'])
    t.match(long.body.message, /fields of a form/)
  })

  await t.test('too large without saying so, and cut off', async t => {
    const options = {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'idempotency-key': 'x',
        'content-type': 'multipart/form-data; boundary=bbb',
      },
    }
    const endless = request(`${baseUrl}/v1/inboxes/${inbox}/send`, options)
    const status = new Promise(resolve => endless.on('response', answer => resolve(answer.statusCode)))
    let answered = false
    status.then(() => {
      answered = true
    })
    const chunk = Buffer.alloc(1024 * 1024, 'x')
    for (let count = 0; count < 200 && !answered; count++) {
      await new Promise(resolve => endless.write(chunk, resolve))
    }
    t.equal(await status, 413)
    endless.on('error', () => {})
    endless.destroy()
    const cut = request(`${baseUrl}/v1/inboxes/${inbox}/send`, options)
    cut.on('error', () => {})
    await new Promise(resolve => cut.write(chunk, resolve))
    cut.destroy()
    t.equal((await api.get(`/v1/inboxes/${inbox}`)).status, 200)
  })
  t.strictSame(faults, [])
})

t.test('a large form is read in many turns of the event loop', async t => {
  const large = 8 * sliceBytes
  const schema = Type.Object({ body: Type.String() })
  const fill = (text: string) => text.repeat(large / text.length)
  for (const [name, content] of Object.entries({
    bytes: fill('x'),
    'delimiters that are none': fill('\r\n--bb'),
    'line ends': fill('\r\n'),
  })) {
    const file = 'Content-Disposition: form-data; name="attachments"; filename="a"'
    const body = Buffer.from(`--bbb\r\n${file}\r\n\r\n${content}\r\n--bbb--\r\n`)
    const contents = new Contents()
    const { result, turns } = await turnsDuring(() =>
      readForm(body, 'multipart/form-data; boundary=bbb', schema, contents),
    )
    contents.putInto({ attachments: [result.attachments] })
    t.equal((result.attachments as { content: Buffer }).content.toString(), content, name)
    t.ok(turns >= (4 * large) / sliceBytes, `${name}: ${turns} turns`)
  }
})
