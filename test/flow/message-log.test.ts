import t from 'tap'
import { callCtl } from '../support/called-ctl.ts'
import { startLocalDaemon } from '../support/local-daemon.ts'
import { submit } from '../support/smtp-client.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

interface Entry {
  readonly at: string
  readonly what: string
  readonly who: string | null
  readonly said: string
}

t.test('what happened to a message is told from its connection to its end', async t => {
  const dir = temporaryDir(t)
  const daemon = await startLocalDaemon(t, dir)
  const ctl = async (...args: string[]) => {
    const { code, stdout, stderr } = await callCtl(dir, '--json', ...args)
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout)
  }
  const logOf = async (id: string) => (await ctl('message', 'log', id)).data as Entry[]
  const receiver = await startWebhookReceiver(t)
  await ctl('webhook', 'set', receiver.url)
  const raw =
    'From: Ann <ann@example.com>\r\nTo: hello@mailboxd.localhost\r\nSubject: Hi\r\n\r\nAre you there?\r\n'
  await submit('127.0.0.1', daemon.smtpPort, {
    from: 'ann@example.com',
    to: ['hello@mailboxd.localhost'],
    raw,
  })
  const call = await until('the webhook is called', () => receiver.calls[0])
  const { id } = call.json.message
  const came = await until('the call is written down', async () => {
    const entries = await logOf(id)
    return entries.some(({ what }) => what === 'webhook') && entries
  })
  t.match(
    came.map(({ what }) => what),
    ['received', 'judged', 'message.received', 'webhook'],
  )
  t.match(came[0], {
    who: 'ann@example.com',
    said: /^from client\.test \(\[127\.0\.0\.1\]\) by .* for <hello@/,
  })
  t.match(came[3], { who: receiver.url, said: /^200 / })

  const reply = await ctl('message', 'reply', id, '--body', 'Yes.')
  const went = await until('the reply has come to its end', async () => {
    const entries = await logOf(reply.messageId)
    return entries.some(({ what }) => what === 'delivered') && entries
  })
  t.strictSame(went[0]?.what, 'queued')
  t.match(
    went.find(({ what }) => what === 'attempt'),
    { who: 'ann@example.com', said: /^delivered / },
  )
  t.match(
    (await callCtl(dir, 'message', 'log', reply.messageId)).stdout,
    /^\S+ {2}queued {2}as from <hello@mailboxd\.localhost>$/m,
  )
  t.match(await callCtl(dir, 'message', 'log', 'nonsense'), { code: 1, stderr: /not_found/ })
})
