import { once } from 'node:events'
import { SMTPServer } from 'smtp-server'
import type { Test } from 'tap'
import { until } from './until.ts'

/** A mail as it was handed over for one recipient. */
export interface HandedOver {
  readonly mailFrom: string
  readonly raw: string
}

/** The mail server of people outside, which says what a test wants it to. */
export interface Recipients {
  /** Waits until a recipient has so many mails, and gives them in their order. */
  mails(address: string, count?: number): Promise<HandedOver[]>
  count(address: string): number
  /** Answers RCPT for this address so (`550 5.1.1 no such user`) from now on; undefined: takes its mail again. */
  refuse(address: string, reply: string | undefined): void
}

/** Listens on `host:port`, and takes what it is not told to refuse. */
export async function startRecipients(t: Test, host: string, port: number): Promise<Recipients> {
  const taken = new Map<string, HandedOver[]>()
  const refusals = new Map<string, string>()
  const mailsTo = (address: string) => taken.get(address.toLowerCase()) ?? []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    logger: false,
    onRcptTo({ address }, _session, callback) {
      const [code, ...text] = refusals.get(address.toLowerCase())?.split(' ') ?? []
      if (code === undefined) return callback()
      callback(Object.assign(new Error(text.join(' ')), { responseCode: Number(code) }))
    },
    onData(stream, { envelope }, callback) {
      stream.toArray().then(
        chunks => {
          const raw = Buffer.concat(chunks).toString('latin1')
          const mailFrom = envelope.mailFrom === false ? '' : envelope.mailFrom.address
          for (const { address } of envelope.rcptTo) {
            taken.set(address.toLowerCase(), [...mailsTo(address), { mailFrom, raw }])
          }
          callback()
        },
        () => callback(new Error('cut off')),
      )
    },
  })
  server.on('error', () => {})
  server.listen(port, host)
  await once(server.server, 'listening')
  t.teardown(() => new Promise<void>(resolve => server.close(resolve)))
  return {
    count: address => mailsTo(address).length,
    mails: (address, count = 1) =>
      until(`${count} mails to ${address}`, () => {
        const all = mailsTo(address)
        return all.length >= count ? all : undefined
      }),
    refuse: (address, reply) => void (reply ? refusals.set(address, reply) : refusals.delete(address)),
  }
}
