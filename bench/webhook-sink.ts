/**
 * A process that takes webhooks on 127.0.1.1 to 127.0.1.N, all on one port, and answers 204; the first DEAD of them never
 * answer. It prints its port; to `{"type":"take"}` it sends what came since (`[address, event_id, subject, at]`, `at` in
 * milliseconds of the wall clock with fractions). `node bench/webhook-sink.ts N DEAD`, forked.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One call: its endpoint, its event, the subject of its message and when its first byte came. */
export type Taken = readonly [address: string, eventId: string, subject: string, at: number]

const [count = 1, dead = 0] = process.argv.slice(2).map(Number)
let taken: Taken[] = []

const server = createServer((request, response) => {
  const at = performance.timeOrigin + performance.now()
  const address = request.socket.localAddress ?? ''
  const isDead = Number(address.split('.').at(-1)) <= dead
  const chunks: Buffer[] = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    if (isDead) return
    const body = JSON.parse(Buffer.concat(chunks).toString()) as {
      event_id: string
      message: { subject: string } | null
    }
    taken.push([address, body.event_id, body.message?.subject ?? '', at])
    response.writeHead(204).end()
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '0.0.0.0', () => process.send?.({ port: (server.address() as AddressInfo).port, count }))
process.on('message', () => {
  process.send?.({ taken })
  taken = []
})
process.on('disconnect', () => process.exit())
