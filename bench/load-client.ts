/**
 * A process that sends N messages of BYTES (4096 unless told) over 20 kept connections and prints, as JSON, how long each acceptance took: from
 * the final dot to its 250. `node bench/load-client.ts ADDRESS PORT N RECIPIENT [BYTES]`
 */
import { createConnection } from 'node:net'
import { createInterface } from 'node:readline'

export interface AcceptTimes {
  readonly accepted: number
  readonly refused: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

const connections = 20

const [address = '', port = '', count = '', recipient = '', bytes = '4096'] = process.argv.slice(2)
const messageBytes = Number(bytes)
let left = Number(count)
let refused = 0
const times: number[] = []

function message(n: number): string {
  const header = `From: <load@client.test>\r\nTo: <${recipient}>\r\nMessage-ID: <${n}.${process.pid}@client.test>\r\nSubject: ${n}\r\n\r\n`
  const line = `${'x'.repeat(70)}\r\n`
  return (header + line.repeat(Math.ceil((messageBytes - header.length) / line.length))).slice(
    0,
    messageBytes - 2,
  )
}

async function connection(): Promise<void> {
  const socket = createConnection({ host: address, port: Number(port), noDelay: true })
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
  await ask('EHLO client.test')
  while (left-- > 0) {
    const data = message(left)
    await ask('MAIL FROM:<load@client.test>')
    await ask(`RCPT TO:<${recipient}>`)
    const go = await ask('DATA')
    if (!go.startsWith('354')) throw new Error(`DATA was answered: ${go}`)
    socket.write(`${data}\r\n`)
    const startedAt = performance.now()
    const answer = await ask('.')
    times.push(performance.now() - startedAt)
    if (!answer.startsWith('250')) refused++
  }
  await ask('QUIT')
  socket.destroy()
}

const startedAt = performance.now()
await Promise.all(Array.from({ length: connections }, connection))
const seconds = (performance.now() - startedAt) / 1000
times.sort((a, b) => a - b)
const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
const result: AcceptTimes = {
  accepted: times.length - refused,
  refused,
  seconds,
  p50Ms: at(0.5),
  p99Ms: at(0.99),
  maxMs: at(1),
}
console.log(JSON.stringify(result))
