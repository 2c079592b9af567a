import t from 'tap'
import { apiOf } from '../support/api.ts'
import { startDaemon } from '../support/daemon.ts'
import { without } from '../support/peers.ts'
import { headerText, startClamav, startRspamd, virusText } from '../support/scanners.ts'
import { submit } from '../support/smtp-client.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

const mail = (to: string, subject: string, body: string) => ({
  from: 'bob@example.net',
  to: [to],
  raw: Buffer.from(`From: bob@example.net\r\nTo: ${to}\r\nSubject: ${subject}\r\n\r\n${body}\r\n`),
})

t.test(
  'an agent is not told of a virus unasked, and mail flows without its scanners',
  { skip: without('clamd', 'rspamd') },
  async t => {
    const [clamav, rspamd] = await Promise.all([startClamav(t), startRspamd(t)])
    const receiver = await startWebhookReceiver(t)
    const daemon = await startDaemon(t, {
      toml: `[webhook]
allow_http = true
allow_networks = ["127.0.0.0/8"]
[scanner]
clamav = "${clamav.path}"
rspamd_url = "${rspamd.url}"
timeout = "60s"`,
    })
    const { token } = await daemon.createKey()
    const api = apiOf(daemon.baseUrl, token)
    await daemon.ctl('member', 'add', 'human@theirs.example')
    const forwarding = { forwardTo: 'human@theirs.example', forwardWhen: 'always' }
    const { body: inbox } = await api.post('/v1/inboxes', {
      mailboxName: 'ann',
      webhookUrl: receiver.url,
      ...forwarding,
    })
    const path = `/v1/inboxes/${inbox.id}/messages`
    const began = new Date(0).toISOString()
    const wait = async (more = '') => {
      const { body } = await api.get(`${path}/wait?timeout=0&after=${began}${more}`)
      return body.data.map((message: { subject: string }) => message.subject)
    }
    const deliver = (subject: string, body: string) =>
      submit('127.0.0.1', daemon.smtpPort, mail(inbox.address, subject, body))

    t.match(await deliver('ill', virusText), /^250 /)
    t.strictSame(await wait(), [], 'nobody who waits gets it')
    t.strictSame(await wait('&includeMalicious=true'), ['ill'], 'unless they ask')
    t.match(await deliver('junk', headerText), /^250 /)
    t.match(await deliver('well', 'hello'), /^250 /)
    t.strictSame(await wait(), ['well'], 'spam is passed over')
    await clamav.stop()
    await rspamd.stop()
    t.match(
      await deliver('unscanned', virusText),
      /^250 /,
      'no mail is lost or refused for want of a scanner',
    )

    await until('three calls', () => receiver.calls.length === 3)
    t.strictSame(receiver.calls.map(({ json }) => [json.message.subject, json.message.verdict]).sort(), [
      ['junk', 'spam'],
      ['unscanned', 'clean'],
      ['well', 'clean'],
    ])
    const { body: list } = await api.get(path)
    t.strictSame(
      list.data.map((one: Record<string, unknown>) => [
        one.subject,
        one.verdict,
        one.category,
        one.autoReplyable,
      ]),
      [
        ['unscanned', 'clean', 'personal', true],
        ['well', 'clean', 'personal', true],
        ['junk', 'spam', 'spam', false],
        ['ill', 'malicious', 'malicious', false],
      ],
      'it stands in the list with its verdict',
    )
    t.strictSame(
      (await api.get(`${path}?category=malicious`)).body.data.map((one: { subject: string }) => one.subject),
      ['ill'],
    )
    const { body: events } = await api.get('/v1/events?type=message.received')
    t.equal(events.data.length, 3)
    const copies = await Promise.all(
      list.data.map(
        async ({ id }: { id: string }) => (await api.get(`/v1/messages/${id}/deliveries`)).body.data.length,
      ),
    )
    t.strictSame(copies, [1, 1, 0, 0], 'neither spam nor what is malicious is forwarded')
    t.ok(daemon.log().some(entry => entry.msg === 'messages could not be scanned'))
  },
)
