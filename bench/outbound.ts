import { randomUUID } from 'node:crypto'
import { Pool } from 'undici'
import type { SmtpSink } from '../test/support/smtp-sink.ts'
import { source } from './inbound.ts'
import { type ProcessFigures, watchProcesses } from './process-figures.ts'
import type { MailboxdSubject } from './subject/mailboxd.ts'
import { relayedDomain } from './subject/relaying-postfix.ts'
import type { Subject } from './subject/subject.ts'

export interface OutboundFigures {
  readonly messages: number
  /** Sends that got their 200, a second, over 20 HTTP connections; for a relay messages that got their 250. */
  readonly sentPerSecond: number
  /** Messages a second from the first of them until the sink had all. */
  readonly arrivedPerSecond: number
  readonly load: ProcessFigures
}

const connections = 20
const arrivalMs = 120_000
const text = `${'A line of the text of a message. '.repeat(3)}\n`.repeat(10)

/** Measures mailboxd from the API's send to smtp-sink, after a tenth of `messages` to warm up. */
export async function measureSends(
  subject: MailboxdSubject,
  sink: SmtpSink,
  messages: number,
): Promise<OutboundFigures> {
  return measure(subject.pid, sink, messages, (run, count) => sendAll(subject, run, count))
}

/** Measures a relay from smtp-source, over 20 connections that are kept, to smtp-sink, after a tenth of `messages` to warm up. */
export function measureRelayed(relay: Subject, sink: SmtpSink, messages: number): Promise<OutboundFigures> {
  return measure(relay.pid, sink, messages, async (_run, count) => {
    await source(relay, count, text.length, ['-d'], `bench@${relayedDomain}`)
  })
}

async function measure(
  pid: number,
  sink: SmtpSink,
  messages: number,
  give: (run: string, count: number) => Promise<void>,
): Promise<OutboundFigures> {
  const before = sink.count()
  const warming = Math.ceil(messages / 10)
  await give('warm', warming)
  await sink.taken(before + warming, arrivalMs)

  const watch = watchProcesses(pid)
  const startedAt = performance.now()
  await give('load', messages)
  const sent = (performance.now() - startedAt) / 1000
  await sink.taken(before + warming + messages, arrivalMs)
  const arrived = (performance.now() - startedAt) / 1000
  return {
    messages,
    sentPerSecond: messages / sent,
    arrivedPerSecond: messages / arrived,
    load: watch.stop(),
  }
}

/** Has `count` messages sent over 20 connections; `run` is in the name of each. */
export async function sendAll(subject: MailboxdSubject, run: string, count: number): Promise<void> {
  const pool = new Pool(subject.api, { connections })
  const numbers = Array.from({ length: count }, (_, n) => n).values()
  const sendNext = async () => {
    for (const n of numbers) await send(pool, subject, `${run}-${n}`)
  }
  try {
    await Promise.all(Array.from({ length: connections }, sendNext))
  } finally {
    await pool.close()
  }
}

async function send(pool: Pool, { token, inboxId }: MailboxdSubject, name: string): Promise<void> {
  const { statusCode, body } = await pool.request({
    method: 'POST',
    path: `/v1/inboxes/${inboxId}/send`,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      // Its own each time, for a data directory may have been measured before.
      'idempotency-key': randomUUID(),
    },
    body: JSON.stringify({ to: `${name}@sink.test`, subject: name, body: text }),
  })
  const answer = await body.text()
  if (statusCode !== 200) throw new Error(`send answered ${statusCode}: ${answer}`)
}
