import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { measures } from '../../lib/base/metrics.ts'
import { apiOf } from '../support/api.ts'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import { without } from '../support/peers.ts'
import { runProgram } from '../support/program.ts'
import { submit } from '../support/smtp-client.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

const config = join(import.meta.dirname, '../../config')
const toml = `[metrics]
listen = ["127.0.0.1:0"]
[webhook]
allow_http = true
allow_networks = ["127.0.0.0/8"]
`
/** Nobody of ours says these words. */
const strange = 'zebra-stranger'

/** One of everything that is counted. */
async function haveAllHappen(t: Test, daemon: TestDaemon): Promise<{ ids: string[] }> {
  const receiver = await startWebhookReceiver(t)
  const { token } = await daemon.createKey()
  const api = apiOf(daemon.baseUrl, token)
  const { body: ann } = await api.post('/v1/inboxes', { mailboxName: 'ann', webhookUrl: receiver.url })
  const { body: bea } = await api.post('/v1/inboxes', { mailboxName: 'bea' })
  const from = `${strange}@example.net`
  const raw = Buffer.from(`From: ${from}\r\nTo: ${ann.address}\r\nSubject: ${strange}\r\n\r\n${strange}\r\n`)
  await submit('127.0.0.1', daemon.smtpPort, { from, to: [ann.address], raw })
  const dialog = await greetedDialog(daemon.smtpPort)
  await dialog.say(`MAIL FROM:<${from}>`)
  await dialog.say(`RCPT TO:<${strange}@ours.example>`)
  await dialog.say(strange)
  await dialog.say('QUIT')
  await api.get(`/v1/${strange}`)
  await api.get(`/v1/inboxes/${strange}`)
  await api.send(bea.id, { to: ann.address, subject: 'From Bea', body: 'Hi' })
  await until('both were told', () => receiver.calls.filter(call => call.json.message).length === 2)
  return { ids: [ann.id, bea.id, ann.podId] }
}

t.test('what happens is counted, and nothing of strangers or tenants stands in it', async t => {
  const daemon = await startDaemon(t, { toml })
  const url = daemon.metricsUrl()
  const { ids } = await haveAllHappen(t, daemon)
  const ask = async () => (await fetch(url)).text()
  const has = (text: string, line: string) => text.includes(`\nmailboxd_${line}\n`)
  const expected = [
    'smtp_connections_total{outcome="accepted"} 2',
    'smtp_refusals_total{code="550",enhanced="5.1.1"} 1',
    'messages_received_total{verdict="clean",category="personal"} 1',
    'messages_received_tls_total{tls="none"} 1',
    'message_receive_seconds_count 1',
    'messages_queued_total 1',
    'delivery_attempts_total{result="delivered",class="none",via="local"} 1',
    'delivered_seconds_count 1',
    'webhook_calls_total{result="delivered"} 2',
    'http_requests_total{operation="createInbox",status="201"} 2',
    'http_requests_total{operation="none",status="404"} 1',
    'smtp_sessions 0',
    'http_memory_bytes 0',
    'queue_entries{kind="delivery",state="due"} 0',
    'index_waiting 0',
  ]
  // What threads count comes a moment later, and answers are kept for a second.
  await until('all of it is told', async () => {
    const text = await ask()
    return expected.every(line => has(text, line))
  }).catch(async () => {
    const text = await ask()
    t.fail(`${expected.filter(line => !has(text, line)).join('; ')} in ${text}`)
  })
  const text = await ask()
  t.notMatch(text, new RegExp([strange, 'example', ...ids].join('|')))
  for (const name of Object.keys(measures)) t.match(text, `# HELP mailboxd_${name} `)
  t.match(text, /mailboxd_certificate_expiry_seconds\{certificate="1"\} \d{10}/)
  t.match(text, /mailboxd_nodejs_eventloop_lag_p99_seconds \d/)

  const elsewhere = await fetch(url.replace('/metrics', '/'))
  t.equal(elsewhere.status, 404)
  t.equal((await fetch(url, { method: 'POST' })).status, 405)
  t.equal((await fetch(`${daemon.baseUrl}/metrics`)).status, 404, 'it is not at the door of the API')
})

t.test('without the setting nobody listens', async t => {
  const daemon = await startDaemon(t)
  t.notOk(daemon.log().some(line => line.msg === 'metrics can be asked for'))
})

interface Panel {
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
}

t.test(
  'a real Prometheus reads them, with the alerts and the dashboard',
  { skip: without('prometheus') },
  async t => {
    const daemon = await startDaemon(t, { toml })
    await haveAllHappen(t, daemon)
    const url = daemon.metricsUrl()
    const checked = await runProgram('promtool', ['check', 'metrics'], await (await fetch(url)).text())
    t.equal(checked.code, 0, checked.stdout + checked.stderr)

    const dir = temporaryDir(t)
    const file = join(dir, 'prometheus.yaml')
    writeFileSync(
      file,
      readFileSync(join(config, 'prometheus.yaml'), 'utf8')
        .replaceAll('127.0.0.1:9464', new URL(url).host)
        .replace('scrape_interval: 15s', 'scrape_interval: 1s'),
    )
    writeFileSync(
      join(dir, 'prometheus-alerts.yaml'),
      readFileSync(join(config, 'prometheus-alerts.yaml'), 'utf8'),
    )
    const prometheus = spawn(
      'prometheus',
      [
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(dir, 'data')}`,
        '--web.listen-address=127.0.0.1:0',
        '--log.format=json',
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    const ended = once(prometheus, 'close')
    t.teardown(() => {
      prometheus.kill('SIGKILL')
      return ended
    })
    let said = ''
    prometheus.stderr.setEncoding('utf8').on('data', some => {
      said += some
    })
    const listening = () => /"address":"(127\.0\.0\.1:[1-9]\d*)"/.exec(said)?.[1]
    await until('it is ready', async () => {
      const address = listening()
      return address !== undefined && (await fetch(`http://${address}/-/ready`)).ok
    })
    const query = async (expr: string) => {
      const answer = await fetch(`http://${listening()}/api/v1/query?${new URLSearchParams({ query: expr })}`)
      return (await answer.json()) as { status: string; error?: string; data?: { result: unknown[] } }
    }
    const has = async (expr: string) => ((await query(expr)).data?.result.length ?? 0) > 0
    await until('it has read twice', () =>
      has('mailboxd_messages_received_total and on() count_over_time(up[1m]) > 1'),
    )
    t.ok(await has('up == 1'))

    const { panels } = JSON.parse(readFileSync(join(config, 'grafana-dashboard.json'), 'utf8')) as {
      panels: Panel[]
    }
    let drawn = 0
    for (const { title, targets = [] } of panels) {
      for (const { expr } of targets) {
        const asked = expr
          .replaceAll('$job', 'mailboxd')
          .replaceAll('$instance', '.*')
          .replaceAll('$__rate_interval', '1m')
        const answer = await query(asked)
        t.equal(answer.status, 'success', `${title}: ${answer.error}`)
        for (const [, name] of asked.matchAll(/mailboxd_(\w+?)(?:_bucket|_sum|_count)?\{/g)) {
          if (name!.startsWith('process_') || name!.startsWith('nodejs_')) continue
          t.ok(name! in measures, `${title}: ${name}`)
        }
        if ((answer.data?.result.length ?? 0) > 0) drawn++
      }
    }
    t.ok(drawn > 30, `${drawn} lines of the dashboard have something to show`)

    const rules = await fetch(`http://${listening()}/api/v1/rules`)
    const { data } = (await rules.json()) as {
      data: { groups: { rules: { health: string; name: string }[] }[] }
    }
    t.ok(data.groups[0]!.rules.length > 10)
    t.strictSame(
      data.groups[0]!.rules.filter(rule => rule.health === 'err').map(rule => rule.name),
      [],
    )
  },
)

t.test('the alerts fire when they should', { skip: without('prometheus') }, async t => {
  const dir = temporaryDir(t)
  const series = (name: string, values: string) => `      - series: '${name}'\n        values: '${values}'\n`
  const fired = (alert: string, at: string, is: boolean, labels = '{}') =>
    `      - alertname: ${alert}\n        eval_time: ${at}\n        exp_alerts: ${is ? `[{ exp_labels: ${labels} }]` : '[]'}\n`
  const text = readFileSync(join(config, 'prometheus-alerts.yaml'), 'utf8')
  // What is tried is when they fire: what they say is taken out.
  writeFileSync(
    join(dir, 'alerts.yaml'),
    text
      .split('\n')
      .filter(line => !/^\s+(summary|action|annotations):/.test(line))
      .join('\n'),
  )
  const one = 'instance="m",job="mailboxd"'
  const of = (more: string) => `{ instance: m, job: mailboxd, ${more} }`
  writeFileSync(
    join(dir, 'test.yaml'),
    `rule_files: [alerts.yaml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
${series(`up{${one}}`, '1x3 0x10')}${series(`mailboxd_disk_free_bytes{${one}}`, '10x3 1x10')}${series(
  `mailboxd_disk_min_free_bytes{${one}}`,
  '5x13',
)}${series(`mailboxd_queue_lateness_seconds{${one},kind="delivery"}`, '0x1 400x20')}${series(
  `mailboxd_smtp_refusals_total{${one},code="451",enhanced="4.3.0"}`,
  '0x5 1x20',
)}    alert_rule_test:
${fired('MailboxdDown', '3m', false)}${fired('MailboxdDown', '8m', true, of('severity: critical'))}${fired(
  'MailboxdTakesNothingIn',
  '2m',
  false,
)}${fired('MailboxdTakesNothingIn', '5m', true, of('severity: critical'))}${fired('MailboxdQueueLate', '9m', false)}${fired(
  'MailboxdQueueLate',
  '15m',
  true,
  of('severity: warning, kind: delivery'),
)}${fired('MailboxdFaults', '4m', false)}${fired(
  'MailboxdFaults',
  '8m',
  true,
  of('severity: warning, code: "451", enhanced: "4.3.0"'),
)}`,
  )
  const { code, stdout, stderr } = await runProgram('promtool', ['test', 'rules', join(dir, 'test.yaml')])
  t.equal(code, 0, stdout + stderr)
})
