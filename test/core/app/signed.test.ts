import t from 'tap'
import type { App } from '../../../lib/core/app/app.ts'
import {
  attachmentUrlMs,
  createUrlSigner,
  formatConfirmationToken,
  isSignedUrl,
  readConfirmationToken,
} from '../../../lib/core/app/signed.ts'

const secret = 'a secret'
const id = '01890000-0000-7000-8000-000000000001'
const at = (ms: number) =>
  ({ baseUrl: 'https://mail.example', clock: { now: () => new Date(ms) } }) as unknown as App

/** What stands in the URL of an attachment. */
function partsOf(url: string) {
  const { pathname, searchParams } = new URL(url)
  const [, , , messageId, index, name] = pathname.split('/')
  const { expires, key, signature } = Object.fromEntries(searchParams)
  return { messageId: messageId!, index: Number(index), name, expires, key, signature }
}

t.test('the URL of an attachment is good for an hour, to the second, and for nothing else', async t => {
  const keyId = id.replace(/1$/, '9')
  for (const ms of [Date.parse('2026-01-02T03:04:05.000Z'), Date.parse('2026-01-02T03:04:05.001Z'), 999]) {
    const { name, ...url } = partsOf(createUrlSigner(at(ms), secret, keyId).attachmentUrl(id, 3, 'a b/ü.pdf'))
    t.strictSame([url.messageId, url.index, name], [id, 3, 'a%20b%2F%C3%BC.pdf'])
    const endMs = Number(url.expires) * 1000
    t.ok(endMs - ms >= attachmentUrlMs && endMs - ms < attachmentUrlMs + 1000)
    const isGood = (nowMs: number, changes: object = {}, own = secret) =>
      isSignedUrl(at(nowMs), own, { ...url, ...changes })
    t.ok(isGood(ms) && isGood(endMs))
    t.notOk(isGood(endMs + 1))
    t.notOk(isGood(ms, {}, 'another'))
    for (const changes of [
      { messageId: id.replace(/1$/, '2') },
      { index: 4 },
      { key: undefined },
      { key: id },
      { expires: String(Number(url.expires) + 1) },
      { expires: `${url.expires}.0` },
      { expires: `0${url.expires}`.padStart(13, '0') },
      { expires: '' },
      { expires: undefined },
      { signature: undefined },
      { signature: '' },
      { signature: url.signature!.slice(0, -1) },
      { signature: `${url.signature}A` },
    ])
      t.notOk(isGood(ms, changes), JSON.stringify(changes))
  }
})

t.test('what is called "text" does not ask for the text', async t => {
  const { attachmentUrl, rawUrl } = createUrlSigner(at(0), secret, null)
  t.equal(partsOf(attachmentUrl(id, 0, 'text')).name, 'text_')
  t.equal(partsOf(attachmentUrl(id, 0, 'text.txt')).name, 'text.txt')
  t.equal(rawUrl(id), `https://mail.example/v1/messages/${id}/raw`)
})

t.test('the link of a confirmation is good until its end, and no other is', async t => {
  const endMs = Date.parse('2026-01-02T03:04:05.000Z')
  const token = formatConfirmationToken(secret, { id, expiresAt: '2026-01-02T03:04:05.678Z' })
  t.equal(token, `${id}.${endMs / 1000}.${token.slice(-43)}`)
  const read = (given: string, nowMs = 0, own = secret) => readConfirmationToken(own, given, new Date(nowMs))
  t.strictSame(read(token, endMs - 1), { id })
  t.equal(read(token, endMs), 'expired')
  t.equal(read(token, 0, 'another'), 'unknown')
  const [, seconds, signature] = token.split('.')
  for (const given of [
    '',
    `${id}.${seconds}.`,
    `${id}.${Number(seconds) + 1}.${signature}`,
    `${id.replace(/1$/, '2')}.${seconds}.${signature}`,
    `${id.replaceAll('-', '_')}.${seconds}.${signature}`,
    `${id}.${seconds!.padStart(13, '0')}.${signature}`,
    `${id}.x${seconds}.${signature}`,
    `${token}A`,
    ` ${token}`,
    `${token.slice(0, -1)}=`,
  ])
    t.equal(read(given), 'unknown', given)
})
