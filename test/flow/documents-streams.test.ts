import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { apiOf } from '../support/api.ts'
import { startDaemon } from '../support/daemon.ts'
import { blocksOf } from '../support/documents.ts'
import { submit } from '../support/smtp-client.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

const snippet = blocksOf('docs/agents/events.md').find(({ text }) => text.startsWith('// stream.mjs'))!.text

/** The program of the guide, as it stands there. */
function run(t: Test, env: Record<string, string>) {
  const path = join(temporaryDir(t), 'stream.mjs')
  writeFileSync(path, snippet)
  const child = spawn(process.execPath, [path], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const said = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', text => {
    said.out += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    said.err += text
  })
  const ended = once(child, 'exit')
  t.teardown(() => {
    child.kill('SIGKILL')
    return ended
  })
  return { said, ended }
}

t.test('the program that listens, as the guide shows it', async t => {
  const daemon = await startDaemon(t)
  const { token } = await daemon.createKey()
  const api = apiOf(daemon.baseUrl, token)
  const { address } = (await api.post('/v1/inboxes', {})).body
  const mail = (text: string) => ({
    from: 'bob@example.net',
    to: [address],
    raw: Buffer.from(
      `From: bob@example.net\r\nTo: ${address}\r\nSubject: Re: Hi\r\n\r\n${text}\r\n\r\nOn Friday, Agent wrote:\r\n> Old\r\n`,
    ),
  })
  const env = { API: `${daemon.baseUrl}/v1`, KEY: token }
  const { said } = run(t, env)
  await until('the subscription', () => /subscribed/.test(said.err))
  await submit('127.0.0.1', daemon.smtpPort, mail('One'))
  await until('an event', () => said.out === `message.received ${address} One\n`)

  const wrong = run(t, { ...env, KEY: 'mbx_wrong' })
  t.not((await wrong.ended)[0], 0)
  t.match(wrong.said.err, /no such key/, 'it stops where another try is in vain')
  t.equal(await daemon.end('SIGTERM'), 0)
})
