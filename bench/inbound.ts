import { fileURLToPath } from 'node:url'
import { getPeer } from '../test/support/peers.ts'
import { runProgram } from '../test/support/program.ts'
import { until } from '../test/support/until.ts'
import type { AcceptTimes, LoadJob } from './load-client.ts'
import { type LoadKind, loadSender } from './load-message.ts'
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

export interface InboundLoad {
  readonly messages: number
  readonly bytes: number
  /** `text` comes from smtp-source, which can neither sign nor attach; the others from a client of our own. */
  readonly kind: LoadKind
  /** The key that kind `signed` is signed with. */
  readonly privateKeyPem?: string | undefined
  /** Throws when the first messages were not taken for what they are. */
  readonly prove?: ((subject: Subject) => Promise<void>) | undefined
}

const deliveryMs = 120_000

/** smtp-source with fewer messages than connections leaves some of them waiting. */
const connections = 20

/** Measures how a running mail server takes mail, after a tenth of it to warm up, and a fifth of it on own connections. */
export async function measureInbound(subject: Subject, load: InboundLoad): Promise<InboundFigures> {
  const { messages } = load
  let sent = 0
  const settled = async (count: number) => {
    sent += count
    const { delivered } = subject
    if (delivered) await until(`${sent} messages delivered`, () => delivered() >= sent, deliveryMs)
  }
  const warming = Math.max(connections, Math.ceil(messages / 10))
  await give(subject, load, warming, false)
  await settled(warming)
  await load.prove?.(subject)

  const watch = watchProcesses(subject.pid)
  const accepting = await give(subject, load, messages, false)
  const startedAt = performance.now()
  await settled(messages)
  const delivering = accepting.seconds + (performance.now() - startedAt) / 1000
  const keptFigures = watch.stop()

  const fewer = Math.max(connections, Math.ceil(messages / 5))
  const watchOwn = watchProcesses(subject.pid)
  const ownConnection = await give(subject, load, fewer, true)
  await settled(fewer)
  const ownFigures = watchOwn.stop()
  const accept = accepting.times ?? (await runClient(subject, load, messages, false))
  if (!accepting.times) await settled(accept.accepted)

  return {
    messages,
    acceptedPerSecond: messages / accepting.seconds,
    deliveredPerSecond: messages / delivering,
    load: keptFigures,
    acceptedPerSecondOwnConnection: fewer / ownConnection.seconds,
    messagesOwnConnection: fewer,
    loadOwnConnection: ownFigures,
    accept,
  }
}

interface Given {
  readonly seconds: number
  /** What smtp-source does not tell. */
  readonly times?: AcceptTimes
}

async function give(subject: Subject, load: InboundLoad, messages: number, isOwn: boolean): Promise<Given> {
  if (load.kind === 'text')
    return { seconds: await source(subject, messages, load.bytes, isOwn ? [] : ['-d']) }
  const times = await runClient(subject, load, messages, isOwn)
  if (times.refused > 0) throw new Error(`${times.refused} of ${messages} messages were refused`)
  return { seconds: times.seconds, times }
}

/**
 * Runs Postfix's smtp-source over 20 connections and gives the seconds that it took. It ends at the first refusal, which throws.
 * @param args further ones: `-d` keeps the connections
 */
export async function source(
  { address, port, recipient }: Pick<Subject, 'address' | 'port' | 'recipient'>,
  messages: number,
  bytes: number,
  args: readonly string[],
  sender = loadSender,
): Promise<number> {
  const load = ['-s', '20', '-m', String(messages), '-l', String(bytes), '-f', sender, '-t', recipient]
  const startedAt = performance.now()
  const run = await runProgram(getPeer('smtp-source'), [...args, ...load, `${address}:${port}`], undefined, {
    timeoutMs: 900_000,
  })
  if (run.code !== 0) throw new Error(`smtp-source ended with ${run.code}: ${run.stderr}`)
  return (performance.now() - startedAt) / 1000
}

async function runClient(
  { address, port, recipient }: Subject,
  { kind, bytes, privateKeyPem }: InboundLoad,
  messages: number,
  isOwn: boolean,
): Promise<AcceptTimes> {
  const client = fileURLToPath(new URL('load-client.ts', import.meta.url))
  const job: LoadJob = { address, port, recipient, messages, bytes, kind, isOwn, privateKeyPem }
  const run = await runProgram(process.execPath, [client, JSON.stringify(job)], undefined, {
    timeoutMs: 900_000,
  })
  if (run.code !== 0) throw new Error(`load-client ended with ${run.code}: ${run.stderr}`)
  return JSON.parse(run.stdout)
}
