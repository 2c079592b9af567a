import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import Koa from 'koa'
import t from 'tap'
import { attachmentUrlMs } from '../../lib/core/app/signed.ts'
import { prepareReception } from '../../lib/core/inbound/receive.ts'
import { createReceiver } from '../../lib/core/inbound/receiver.ts'
import { resolveRecipient } from '../../lib/core/inbound/recipient.ts'
import { writeReception } from '../../lib/core/inbound/write.ts'
import { answerDownload } from '../../lib/http/download.ts'
import { type ApiApp, startApi } from '../support/api-app.ts'

interface Part {
  /** The fields of the part, as a stranger wrote them. */
  readonly header: string
  readonly content: string
}

/** A message with these parts, taken in as if it had come by SMTP; gives its id. */
async function receiveParts({ app }: ApiApp, address: string, parts: readonly Part[]): Promise<string> {
  const bodies = parts.map(
    ({ header, content }) =>
      `--b\r\n${header}\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(content).toString('base64')}\r\n`,
  )
  const raw = `From: eve@example.net\r\nSubject: files\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nHi\r\n${bodies.join('')}--b--\r\n`
  const reception = await prepareReception(createReceiver(app), {
    sessionId: 's',
    mailFrom: 'eve@example.net',
    recipients: [await resolveRecipient(app, address)],
    content: { kind: 'memory', bytes: Buffer.from(raw) },
    peer: { kind: 'smtp', remoteAddress: '192.0.2.1', helo: 'x', protocol: 'SMTP', tls: undefined },
  })
  const [id] = await app.store.write(db => writeReception(app, db, reception))
  return id!
}

/** GET without any client's own idea of a path. */
function getExactly(port: number, path: string): Promise<{ status: number; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path }, async response => {
      resolve({ status: response.statusCode!, bytes: await buffer(response) })
    })
      .on('error', reject)
      .end()
  })
}

t.test('a signed URL', async t => {
  const server = await startApi(t)
  const { api, apiWith, port, clock } = server
  const nobody = apiWith(undefined)
  const { id: inbox, address } = (await api.post('/v1/inboxes', {})).body
  const attach = (name: string, content: string) => ({
    header: `Content-Type: application/pdf; name="${name}"\r\nContent-Disposition: attachment; filename="${name}"`,
    content,
  })
  const id = await receiveParts(server, address, [attach('a.pdf', 'first'), attach('b.pdf', 'second')])
  const other = await receiveParts(server, address, [attach('c.pdf', 'third')])
  const urls = async (message: string): Promise<URL[]> =>
    (await api.get(`/v1/messages/${message}`)).body.attachments.map(
      (one: { url: string }) => new URL(one.url),
    )
  const [first, second] = (await urls(id)) as [URL, URL]
  const pathOf = (url: URL) => url.href.slice(url.origin.length)

  t.equal((await nobody.get(pathOf(first))).bytes.toString(), 'first', 'no key is needed')
  t.equal((await nobody.get(pathOf(second))).bytes.toString(), 'second')
  t.ok(pathOf(first).startsWith(`/v1/attachments/${id}/0/a.pdf?expires=`))

  await t.test('is good for what it says, and nothing else', async t => {
    const changed = (change: (url: URL) => void) => {
      const url = new URL(first)
      change(url)
      return pathOf(url)
    }
    const expires = Number(first.searchParams.get('expires'))
    const signature = first.searchParams.get('signature')!
    const tampered = [
      changed(url => url.searchParams.delete('signature')),
      changed(url => url.searchParams.delete('expires')),
      changed(url => url.searchParams.set('expires', String(expires + 1))),
      changed(url => url.searchParams.set('expires', '999999999999')),
      changed(url => url.searchParams.set('expires', `${expires}.0`)),
      changed(url => url.searchParams.set('expires', 'NaN')),
      changed(url => url.searchParams.set('signature', '')),
      changed(url => url.searchParams.set('signature', `${signature}A`)),
      changed(url => url.searchParams.set('signature', signature.slice(0, -1))),
      changed(url =>
        url.searchParams.set(
          'signature',
          signature.replace(/^./, it => (it === 'A' ? 'B' : 'A')),
        ),
      ),
      changed(url => url.searchParams.set('signature', second.searchParams.get('signature')!)),
      changed(url => url.searchParams.set('signature', '\u00e9'.repeat(signature.length))),
      pathOf(first).replace('/0/', '/1/'),
      pathOf(first).replace('/0/', '/-1/'),
      pathOf(first).replace('/0/', '/x/'),
      pathOf(first).replace(id, other),
      pathOf(first).replace(id, 'x'),
      pathOf(first).replace(/\?.*/, ''),
    ]
    for (const path of tampered) {
      const { status, body, headers } = await nobody.get(path)
      t.strictSame([status, body?.error], [401, 'unauthorized'], path)
      t.equal(headers.get('www-authenticate'), 'Bearer')
    }
    for (const twice of ['expires', 'signature']) {
      const { status } = await nobody.get(`${pathOf(first)}&${twice}=${first.searchParams.get(twice)}`)
      t.equal(status, 400, `${twice} twice`)
    }
    clock.advance(60_000)
  })

  await t.test('the name in it is decoration', async t => {
    const at = (name: string) => pathOf(first).replace('a.pdf', name)
    for (const name of [
      'x',
      '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
      '..',
      '%00',
      '%0d%0aX-Evil:%201',
      '%zz',
      '%ff',
      '<script>',
      'a'.repeat(5000),
      '%F0%9F%99%82',
    ]) {
      const { status, bytes } = await getExactly(port, at(name))
      if (name === '%00') t.equal(status, 404)
      else t.strictSame([status, bytes.toString()], [200, 'first'], name.slice(0, 50))
    }
  })

  await t.test('a key does as well, where it reaches', async t => {
    const bare = pathOf(first).replace(/\?.*/, '')
    const stranger = (await api.post('/v1/inboxes', {})).body.id
    const own = (await api.post(`/v1/inboxes/${inbox}/api-keys`, {})).body.token
    const foreign = (await api.post(`/v1/inboxes/${stranger}/api-keys`, {})).body.token
    t.equal((await apiWith(own).get(bare)).bytes.toString(), 'first')
    t.equal((await apiWith(foreign).get(bare)).status, 404)
    t.equal((await apiWith('mbx_wrong').get(bare)).status, 401)
    t.equal((await apiWith('mbx_wrong').get(pathOf(first))).status, 200, 'the signature suffices')
    t.equal((await apiWith(foreign).get(pathOf(first))).status, 200)
    for (const index of ['2', '99', '9999', '99999', '-1', '1.0', 'x', '0x0', '%20']) {
      t.equal((await api.get(bare.replace('/0/', `/${index}/`))).status, 404, index)
    }
  })

  await t.test('HEAD', async t => {
    const { status, bytes, headers } = await nobody.call('HEAD', pathOf(first))
    t.strictSame([status, bytes.length, headers.get('content-type')], [200, 0, 'application/pdf'])
  })

  await t.test('ends after an hour, and with the inbox', async t => {
    const [fresh] = await urls(id)
    clock.advance(attachmentUrlMs - 5_000)
    t.equal((await nobody.get(pathOf(fresh!))).status, 200)
    clock.advance(7_000)
    t.equal((await nobody.get(pathOf(fresh!))).body.error, 'unauthorized')
    t.equal((await api.get(pathOf(fresh!))).status, 200, 'to a key it does not matter')
    const [again] = await urls(id)
    await api.delete(`/v1/inboxes/${inbox}`)
    t.equal((await nobody.get(pathOf(again!))).status, 404)
  })
  t.strictSame(server.faults, [])
})

t.test("what is a stranger's is saved and never shown", async t => {
  const server = await startApi(t)
  const { api, apiWith } = server
  const { id: inbox, address } = (await api.post('/v1/inboxes', {})).body
  const page = '<script>alert(document.domain)</script>'
  const active = [
    ...[
      'text/html',
      'TEXT/HTML',
      'text/html; charset=utf-7',
      'application/xhtml+xml',
      'application/vnd.wap.xhtml+xml',
    ],
    ...[
      'image/svg+xml',
      'image/svg',
      'text/xml',
      'application/xml',
      'application/atom+xml',
      'text/xsl',
      'a/xslt+xml',
    ],
    ...[
      'application/javascript',
      'text/javascript',
      'text/ecmascript',
      'application/x-javascript',
      'text/vbscript',
    ],
    ...[
      'text/livescript',
      'text/jscript',
      'module/javascript',
      'application/wasm',
      'application/hta',
      'text/x-component',
    ],
    ...[
      'application/mathml+xml',
      'application/x-shockwave-flash',
      'text/cache-manifest',
      'multipart/x-mixed-replace',
    ],
  ]
  const types = [...active, 'application/pdf', 'image/png', 'text/plain', 'x', 'text/html/x', 'a/b\x01c']
  const names = [
    'a.html',
    '../../etc/passwd',
    'C:\\x\\evil.exe',
    'x"; filename="evil.html',
    'é.txt',
    '日本.pdf',
    '\u202efdp.exe',
    'a\x01b',
    '..',
    ' ',
    "a'b%20;c",
    '=?utf-8?Q?x=0D=0AX-Evil:_1?=',
  ]
  const quoted = (name: string) => `"${name.replace(/["\\]/g, '\\$&')}"`
  const id = await receiveParts(server, address, [
    ...types.map(type => ({
      header: `Content-Type: ${type}\r\nContent-Disposition: attachment; filename=f`,
      content: page,
    })),
    ...names.map(name => ({
      header: `Content-Type: text/html\r\nContent-Disposition: attachment; filename=${quoted(name)}`,
      content: page,
    })),
  ])
  const sent = (
    await api.send(inbox, {
      to: 'bob@example.net',
      subject: 's',
      body: 'b',
      attachments: [
        ...types.map(contentType => ({ filename: 'f', contentType, content: 'PGI+' })),
        ...names.map(filename => ({ filename, contentType: 'text/html', content: 'PGI+' })),
      ],
    })
  ).body.messageId
  for (const [message, content] of [
    [id, page],
    [sent, '<b>'],
  ] as const) {
    const { attachments } = (await api.get(`/v1/messages/${message}`)).body
    t.ok(attachments.length >= names.length + types.length - 1)
    for (const { url, filename, contentType } of attachments) {
      const what = `${contentType} ${JSON.stringify(filename)}`
      const { status, headers, bytes } = await apiWith(undefined).get(url.slice(server.baseUrl.length))
      t.strictSame([status, bytes.toString()], [200, content], what)
      t.match(headers.get('content-disposition'), /^attachment; filename[*]?=/, what)
      t.notMatch(headers.get('content-disposition'), /[/\\](?!")|[^ -~\xa0-\xff]/, what)
      t.equal(headers.get('x-content-type-options'), 'nosniff')
      t.equal(headers.get('cache-control'), 'private, no-store')
      t.equal(headers.get('content-security-policy'), "default-src 'none'; sandbox")
      t.match(headers.get('content-type'), /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/, what)
      if (active.some(type => type.toLowerCase().startsWith(contentType.toLowerCase()))) {
        t.equal(headers.get('content-type'), 'application/octet-stream', what)
      }
      if (contentType === 'image/png') t.equal(headers.get('content-type'), contentType)
      t.equal(headers.get('x-evil'), null)
      t.notMatch(filename, /[/\\\p{Cc}\u202e]|^[. ]*$/u, what)
    }
  }
  const raw = await api.get(`/v1/messages/${id}/raw`)
  t.equal(raw.headers.get('content-disposition'), `attachment; filename="${id}.eml"`)
  t.equal(raw.headers.get('x-content-type-options'), 'nosniff')
  t.equal(Number(raw.headers.get('content-length')), raw.bytes.length)
  t.strictSame(server.faults, [])
})

t.test(
  'what would hold parts of its own is not shown as such, whoever says that it is an attachment',
  async t => {
    // The reader takes it apart and a send refuses it: neither comes this far.
    const app = new Koa()
    app.use(context =>
      answerDownload(context, {
        contentType: context.path.slice(1),
        filename: 'f',
        sizeBytes: undefined,
        content: Readable.from(['x']),
      }),
    )
    const server = app.listen(0, '127.0.0.1')
    t.teardown(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    for (const [claimed, told] of [
      ['multipart/x-mixed-replace', 'application/octet-stream'],
      ['Multipart/related', 'application/octet-stream'],
      ['image/png', 'image/png'],
    ]) {
      const response = await fetch(`http://127.0.0.1:${port}/${claimed}`)
      t.equal(response.headers.get('content-type'), told, `${claimed}`)
      await response.arrayBuffer()
    }
  },
)
