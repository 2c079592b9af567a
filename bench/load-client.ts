/**
 * A process that sends messages over 20 connections and prints, as JSON, how many were taken a second and how long each acceptance
 * took: from the final dot to its 250. What it sends is made, and signed, before its clock starts. `node bench/load-client.ts JOB`
 */
import { createConnection } from 'node:net'
import { createInterface } from 'node:readline'
import { systemClock } from '../lib/base/time.ts'
import { type LoadKind, loadDomain, loadMessages, loadSender } from './load-message.ts'
import { percentile } from './percentile.ts'

/** What it is told, as JSON. */
export interface LoadJob {
  readonly address: string
  readonly port: number
  readonly recipient: string
  readonly messages: number
  readonly bytes: number
  readonly kind: LoadKind
  /** A new connection for each message. */
  readonly isOwn: boolean
  readonly privateKeyPem?: string | undefined
}

export interface AcceptTimes {
  readonly accepted: number
  readonly refused: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

const connections = 20
const job: LoadJob = JSON.parse(process.argv[2] ?? '{}')
const make = loadMessages({ ...job, at: systemClock.now() })
const messages: (readonly Buffer[])[] = []
for (let n = 0; n < job.messages; n++) messages.push(await make(n))

let refused = 0
const times: number[] = []
const answered = Promise.withResolvers<void>()

async function connection(): Promise<void> {
  const socket = createConnection({ host: job.address, port: job.port, noDelay: true })
  const replies = createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY })[
    Symbol.asyncIterator
  ]()
  const reply = async () => {
    for (;;) {
      const { value, done } = await replies.next()
      if (done) throw new Error('the server hung up')
      if (value[3] !== '-') return value
    }
  }
  const ask = (line: string) => {
    socket.write(`${line}\r\n`)
    return reply()
  }
  await reply()
  await ask(`EHLO ${loadDomain}`)
  do {
    const message = messages.pop()
    if (message === undefined) break
    for (const line of [`MAIL FROM:<${loadSender}>`, `RCPT TO:<${job.recipient}>`, 'DATA']) {
      const answer = await ask(line)
      if (!/^[23]/.test(answer)) throw new Error(`${line} was answered ${answer}`)
    }
    for (const piece of message) socket.write(piece)
    const startedAt = performance.now()
    const answer = await ask('.')
    times.push(performance.now() - startedAt)
    if (!answer.startsWith('250')) refused++
    if (times.length === job.messages) answered.resolve()
  } while (!job.isOwn)
  await ask('QUIT')
  socket.destroy()
}

async function sendAll(): Promise<void> {
  while (messages.length > 0) await connection()
}

const startedAt = performance.now()
// OpenSMTPD leaves some connections without a greeting, for ever, while others bring all.
await Promise.race([answered.promise, Promise.all(Array.from({ length: connections }, sendAll))])
const seconds = (performance.now() - startedAt) / 1000
const result: AcceptTimes = {
  accepted: times.length - refused,
  refused,
  seconds,
  p50Ms: percentile(times, 50),
  p99Ms: percentile(times, 99),
  maxMs: Math.max(...times),
}
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit())
