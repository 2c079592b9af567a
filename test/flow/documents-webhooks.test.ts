import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { newWebhookSecret, webhookSignatureHeaders } from '../../lib/courier/webhook/signature.ts'
import { blocksOf } from '../support/documents.ts'
import { getPeer, without } from '../support/peers.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const blockOf = (file: string) =>
  blocksOf('docs/agents/events.md').find(({ text }) => text.split('\n')[0]!.endsWith(` ${file}`))!.text

const secret = newWebhookSecret()
const body = JSON.stringify({ event: 'message.received', text: 'é🙂' })
const headersAt = (at: Date) => webhookSignatureHeaders({ id: 'x', at, secret, body })
const now = new Date()
/** Headers, body and whether they are to be believed. */
const cases: [headers: Record<string, string>, body: string, isGood: boolean][] = [
  [headersAt(now), body, true],
  [headersAt(now), `${body} `, false],
  [headersAt(new Date(now.getTime() - 600_000)), body, false],
  [{ ...headersAt(now), 'x-signature': '00' }, body, false],
  [{ ...headersAt(now), 'x-signature': 'é' }, body, false],
  [{ ...headersAt(now), 'x-timestamp': 'soon' }, body, false],
  [{ ...headersAt(now), 'x-timestamp': '٣' }, body, false],
  [{ 'x-signature': headersAt(now)['x-signature']! }, body, false],
  [{ 'x-timestamp': headersAt(now)['x-timestamp']! }, body, false],
  [{}, body, false],
]

t.test('the verification in Node that the guide shows', async t => {
  const path = join(temporaryDir(t), 'verify.mjs')
  writeFileSync(path, blockOf('verify.mjs'))
  const { isFromMailboxd } = await import(pathToFileURL(path).href)
  for (const [headers, text, isGood] of cases) {
    t.equal(isFromMailboxd(headers, Buffer.from(text), secret), isGood)
  }
})

t.test('the verification in Python that the guide shows', { skip: without('python3') }, async t => {
  const script = `${blockOf('verify.py')}
import json, sys
for headers, body, secret in json.load(sys.stdin):
    print(is_from_mailboxd(headers, body.encode(), secret))
`
  const input = JSON.stringify(cases.map(([headers, text]) => [headers, text, secret]))
  const { stdout, stderr } = await runProgram(getPeer('python3'), ['-c', script], input)
  t.equal(stderr, '')
  const expected = cases.map(([, , isGood]) => (isGood ? 'True' : 'False'))
  t.strictSame(stdout.trim().split('\n'), expected)
})
