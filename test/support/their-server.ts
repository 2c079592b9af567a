import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import type { Test } from 'tap'
import { startDns } from './dns.ts'

/** A mail server of others at theirs1.example to theirs4.example, which takes everything, notes the subject of each, and can keep who says RCPT waiting for its answer. */
export async function startTheirServer(t: Test) {
  const taken: string[] = []
  const waiting: (() => void)[] = []
  let isHolding = false
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    logger: false,
    onRcptTo(_address, _session, callback) {
      if (isHolding) waiting.push(() => callback())
      else callback()
    },
    onData(stream, _session, callback) {
      stream.toArray().then(
        chunks => {
          const raw = Buffer.concat(chunks).toString('latin1')
          taken.push(/^Subject: (.+)\r$/im.exec(raw)?.[1] ?? 'none')
          callback()
        },
        () => callback(new Error('cut off')),
      )
    },
  })
  server.on('error', () => {})
  server.listen(0, '127.0.0.3')
  await once(server.server, 'listening')
  t.teardown(() => new Promise<void>(resolve => server.close(resolve)))
  const dns = await startDns({})
  t.teardown(() => dns.close())
  for (const n of [1, 2, 3, 4]) {
    dns.set(`theirs${n}.example`, 'MX', [{ priority: 10, exchange: `mx.theirs${n}.example` }])
    dns.set(`mx.theirs${n}.example`, 'A', ['127.0.0.3'])
  }
  return {
    dns: dns.server,
    mxPort: (server.server.address() as AddressInfo).port,
    taken,
    /** Those who wait for their answer. */
    waiting,
    hold(holds: boolean) {
      isHolding = holds
    },
  }
}
