import { fileURLToPath } from 'node:url'
import { getPeer } from '../test/support/peers.ts'
import { runProgram } from '../test/support/program.ts'
import { until } from '../test/support/until.ts'
import type { AcceptTimes } from './load-client.ts'
import { type ProcessFigures, watchProcesses } from './process-figures.ts'
import type { Subject } from './subject/subject.ts'

export interface InboundFigures {
  readonly messages: number
  /** Messages a second, 20 connections, each connection kept for many messages: until the last 250. */
  readonly acceptedPerSecond: number
  /** The same until the last message lay in its mailbox. */
  readonly deliveredPerSecond: number
  readonly load: ProcessFigures
  /** Accepted a second when every message comes on a connection of its own, and what that took. */
  readonly acceptedPerSecondOwnConnection: number
  readonly messagesOwnConnection: number
  readonly loadOwnConnection: ProcessFigures
  readonly accept: AcceptTimes
}

const deliveryMs = 120_000

/** Measures how a running mail server takes `messages` messages of `bytes`, after a tenth of that to warm up. */
export async function measureInbound(
  subject: Subject,
  messages: number,
  bytes: number,
): Promise<InboundFigures> {
  let sent = 0
  const settled = async (count: number) => {
    sent += count
    const { delivered } = subject
    if (delivered) await until(`${sent} messages delivered`, () => delivered() >= sent, deliveryMs)
  }
  const warming = Math.ceil(messages / 10)
  await source(subject, warming, bytes, ['-d'])
  await settled(warming)

  const watch = watchProcesses(subject.pid)
  const accepting = await source(subject, messages, bytes, ['-d'])
  const startedAt = performance.now()
  await settled(messages)
  const delivering = accepting + (performance.now() - startedAt) / 1000
  const load = watch.stop()

  const fewer = Math.ceil(messages / 5)
  const watchOwn = watchProcesses(subject.pid)
  const ownConnection = await source(subject, fewer, bytes, [])
  await settled(fewer)
  const loadOwnConnection = watchOwn.stop()
  const accept = await acceptTimes(subject, messages, bytes)
  await settled(accept.accepted)

  return {
    messages,
    acceptedPerSecond: messages / accepting,
    deliveredPerSecond: messages / delivering,
    load,
    acceptedPerSecondOwnConnection: fewer / ownConnection,
    messagesOwnConnection: fewer,
    loadOwnConnection,
    accept,
  }
}

/** Runs Postfix's smtp-source and gives the seconds that it took. It ends at the first refusal, which throws. */
async function source(
  { address, port, recipient }: Subject,
  messages: number,
  bytes: number,
  args: string[],
): Promise<number> {
  const load = [
    '-s',
    '20',
    '-m',
    String(messages),
    '-l',
    String(bytes),
    '-f',
    'load@client.test',
    '-t',
    recipient,
  ]
  const startedAt = performance.now()
  const run = await runProgram(getPeer('smtp-source'), [...args, ...load, `${address}:${port}`], undefined, {
    timeoutMs: 900_000,
  })
  if (run.code !== 0) throw new Error(`smtp-source ended with ${run.code}: ${run.stderr}`)
  return (performance.now() - startedAt) / 1000
}

async function acceptTimes(
  { address, port, recipient }: Subject,
  messages: number,
  bytes: number,
): Promise<AcceptTimes> {
  const client = fileURLToPath(new URL('load-client.ts', import.meta.url))
  const run = await runProgram(
    process.execPath,
    [client, address, String(port), String(messages), recipient, String(bytes)],
    undefined,
    {
      timeoutMs: 900_000,
    },
  )
  if (run.code !== 0) throw new Error(`load-client ended with ${run.code}: ${run.stderr}`)
  return JSON.parse(run.stdout)
}
