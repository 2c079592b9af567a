/**
 * `bin/node bench/relay.ts [messages]`: mail on its way out beside Postfix, to 1 and to 100 domains with a server each. Postfix gets
 * it by SMTP from this machine, mailboxd as sends over its API (and signs it); each over 20 connections. Needs root and `npm run build`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { Pool } from 'undici'
import { freePort } from '../test/support/ports.ts'
import { startPostfix } from '../test/support/postfix.ts'
import { type SmtpSink, startSmtpSink } from '../test/support/smtp-sink.ts'
import { until } from '../test/support/until.ts'
import { watchProcesses } from './process-figures.ts'
import { startMailboxdSubject } from './subject/mailboxd.ts'
import { table } from './table.ts'

const connections = 20
const arrivalMs = 300_000
const text = `${'A line of the text of a message. '.repeat(3)}\n`.repeat(10)

/** Takes one message for a recipient; made once for each connection. */
type Handover = (recipient: string, name: string) => Promise<void>

interface Relay {
  readonly pid: number
  /** A connection, on which one message follows the other. */
  connect(): Promise<{ send: Handover; end(): void }>
  stop(): Promise<void>
}

const domainOf = (n: number) => `d${n}.test`
const addressOf = (n: number) => `127.0.${10 + (n >> 7)}.${(n & 127) + 1}`

async function startOwn(domains: number, port: number): Promise<Relay> {
  const zone = Object.fromEntries(
    Array.from({ length: domains }, (_, n) => [
      [domainOf(n), { MX: [{ priority: 10, exchange: `mx.${domainOf(n)}` }] }],
      [`mx.${domainOf(n)}`, { A: [addressOf(n)] }],
    ]).flat(),
  )
  const { api, token, inboxId, pid, stop } = await startMailboxdSubject(port, { zone })
  const pool = new Pool(api, { connections })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const send: Handover = async (to, name) => {
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: `/v1/inboxes/${inboxId}/send`,
      headers: { ...headers, 'idempotency-key': name },
      body: JSON.stringify({ to, subject: name, body: text }),
    })
    const answer = await body.text()
    if (statusCode !== 200) throw new Error(`send answered ${statusCode}: ${answer}`)
  }
  return {
    pid,
    connect: async () => ({ send, end() {} }),
    async stop() {
      await pool.close()
      await stop()
    },
  }
}

async function startOther(domains: number, port: number): Promise<Relay> {
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
  const address = '127.0.0.1'
  const routes = Object.fromEntries(
    Array.from({ length: domains }, (_, n) => [domainOf(n), `${addressOf(n)}:${port}`]),
  )
  const at = { dir, hostname: 'mx.postfix.test', address, port: await freePort(address) }
  const postfix = await startPostfix({
    ...at,
    mailboxes: ['nobody@postfix.test'],
    routes,
  })
  return {
    pid: postfix.pid,
    async connect() {
      const connection = new SMTPConnection({ host: address, port: at.port, ignoreTLS: true })
      await new Promise<void>((resolve, reject) => {
        connection.once('error', reject)
        connection.connect(error => (error ? reject(error) : resolve()))
      })
      const send: Handover = (to, name) =>
        new Promise((resolve, reject) => {
          const from = 'bench@postfix.test'
          const raw = `From: <${from}>\r\nTo: <${to}>\r\nMessage-ID: <${name}@postfix.test>\r\nSubject: ${name}\r\n\r\n${text}`
          connection.send({ from, to: [to] }, raw, error => (error ? reject(error) : resolve()))
        })
      return { send, end: () => connection.quit() }
    },
    async stop() {
      await postfix.stop()
      rmSync(dir, { recursive: true })
    },
  }
}

async function sendAll(relay: Relay, run: string, domains: number, count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, n) => n).values()
  const sendNext = async () => {
    const { send, end } = await relay.connect()
    for (const n of numbers) await send(`r${n}@${domainOf(n % domains)}`, `${run}-${n}`)
    end()
  }
  await Promise.all(Array.from({ length: connections }, sendNext))
}

async function measure(
  name: string,
  start: typeof startOwn,
  domains: number,
  messages: number,
): Promise<readonly string[]> {
  const addresses = Array.from({ length: domains }, (_, n) => addressOf(n))
  const port = await freePort(...addresses)
  const sinks: SmtpSink[] = []
  for (const address of addresses) sinks.push(await startSmtpSink(address, port))
  const arrived = () => sinks.reduce((sum, sink) => sum + sink.count(), 0)
  const have = (count: number) => until(`${count} messages at the sinks`, () => arrived() >= count, arrivalMs)
  try {
    const relay = await start(domains, port)
    try {
      const warming = Math.ceil(messages / 10)
      await sendAll(relay, 'warm', domains, warming)
      await have(warming)
      const watch = watchProcesses(relay.pid)
      const began = performance.now()
      await sendAll(relay, 'load', domains, messages)
      const handed = (performance.now() - began) / 1000
      await have(warming + messages)
      const took = (performance.now() - began) / 1000
      const { cpuSeconds } = watch.stop()
      return [
        `${name}, ${domains} domain${domains > 1 ? 's' : ''}`,
        (messages / handed).toFixed(0),
        (messages / took).toFixed(0),
        ((cpuSeconds / messages) * 1000).toFixed(2),
      ]
    } finally {
      await relay.stop()
    }
  } finally {
    await Promise.all(sinks.map(sink => sink.stop()))
  }
}

const messages = Number(process.argv[2] ?? 2000)
const rows: (readonly string[])[] = []
for (const domains of [1, 100]) {
  rows.push(await measure('Postfix', startOther, domains, messages))
  rows.push(await measure('mailboxd', startOwn, domains, messages))
}
console.log(`${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}; ${messages} messages\n`)
console.log(table(['', 'handed over a second', 'arrived a second', 'CPU ms a message'], rows))
