/**
 * `npm run bench [-- [--json] [--rounds N] [--messages N] [--bytes N] [--kind KIND] [--stored N] [--peers] [SUBJECT…]]`: measures mailboxd beside Postfix
 * and smtp-server alone, on this machine in one run, the load generator on the same cores. Needs root for Postfix. All of these
 * subjects unless told, with --peers Exim and OpenSMTPD, too; `sends` is mailboxd's sending alone. With rounds the subjects take turns, and
 * each figure is the median of its rounds. KIND of the mail that comes in: `text`; `attachment`, text and an attachment in base64; `signed`, with
 * a DKIM signature, from a domain with SPF and DMARC, which mailboxd and Postfix (with what Debian has for that) verify.
 */
import { cpus } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { without } from '../test/support/peers.ts'
import { freePort } from '../test/support/ports.ts'
import { startSmtpSink } from '../test/support/smtp-sink.ts'
import type { InboundFigures } from './inbound.ts'
import {
  filledWith,
  inboundSubjects,
  measureInboundOf,
  type Row,
  storedInboxes,
  withoutInbound,
} from './inbound-row.ts'
import { isLoadKind, loadKinds } from './load-message.ts'
import { mediansOf } from './medians.ts'
import { measureOutbound, type OutboundFigures } from './outbound.ts'
import { residentBytes } from './process-figures.ts'
import { startMailboxdSubject, withoutMailboxd } from './subject/mailboxd.ts'
import { peers } from './subject/peer.ts'
import { table } from './table.ts'

const usual = ['smtp-server', 'postfix', 'mailboxd']
const subjects = [...inboundSubjects, 'sends']
const outboundMessages = 2000
const settleMs = 2000

interface Figures {
  readonly machine: string
  readonly inbound: Record<string, InboundFigures>
  readonly outbound?: OutboundFigures
  readonly idle?: { readonly startMs: number; readonly rssBytes: number }
  readonly skipped: readonly string[]
}

interface Chosen extends Row {
  readonly wanted: readonly string[]
}

async function measure({ wanted, ...row }: Chosen): Promise<Figures> {
  const inbound: Record<string, InboundFigures> = {}
  const skipped: string[] = []
  for (const name of inboundSubjects) {
    if (!wanted.includes(name)) continue
    const missing = withoutInbound(name, row.kind)
    if (missing) skipped.push(`${name}: ${missing}`)
    else {
      progress(`${name}, inbound`)
      inbound[name] = await measureInboundOf(name, row)
    }
  }
  let own: Pick<Figures, 'outbound' | 'idle'> = {}
  if (wanted.includes('sends') || (wanted.includes('mailboxd') && row.kind === 'text')) {
    const missing = without('smtp-sink') || withoutMailboxd()
    if (missing) skipped.push(`sends: ${missing}`)
    else own = await measureOwn(row.stored)
  }
  return {
    machine: `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}`,
    inbound,
    ...own,
    skipped,
  }
}

/** What only mailboxd does: from the API to a sink; and what it costs to stand there. */
async function measureOwn(stored: number): Promise<Required<Pick<Figures, 'outbound' | 'idle'>>> {
  progress('mailboxd, outbound')
  const sink = await startSmtpSink('127.0.0.2', await freePort('127.0.0.2'))
  try {
    const mailboxd = await startMailboxdSubject(sink.port, filledWith(stored))
    try {
      await pause(settleMs)
      const idle = { startMs: mailboxd.startMs, rssBytes: residentBytes(mailboxd.pid) }
      return { idle, outbound: await measureOutbound(mailboxd, sink, outboundMessages) }
    } finally {
      await mailboxd.stop()
    }
  } finally {
    await sink.stop()
  }
}

function print(
  { machine, inbound, outbound, idle, skipped }: Figures,
  { messages, bytes, kind, stored }: Chosen,
  rounds: number,
): void {
  const postfix = inbound.postfix
  const megabytes = (bytes: number) => (bytes / 1024 / 1024).toFixed(0)
  const ratio = (rate: number) => (postfix ? `${(rate / postfix.deliveredPerSecond).toFixed(2)}×` : '')
  console.log(`\n${machine}\n`)
  console.log(
    `Inbound: ${messages} messages (${kind}) of ${bytes} bytes, 20 connections; the load generator on the same cores; medians of ${rounds}${stored > 0 ? `; mailboxd has ${stored} messages in ${storedInboxes} inboxes` : ''}\n`,
  )
  const head = [
    'messages/s',
    'accepted',
    'in mailbox',
    'to Postfix',
    'own connection',
    'p50 ms',
    'p99 ms',
    'CPU ms',
    'own',
    'main ms',
    'own',
    'RSS MB',
    'PSS MB',
    'processes',
  ]
  const each = (seconds: number, messages: number) => ((seconds * 1000) / messages).toFixed(2)
  const rows = Object.entries(inbound).map(([name, figures]) => [
    name,
    figures.acceptedPerSecond.toFixed(0),
    figures.deliveredPerSecond.toFixed(0),
    ratio(figures.deliveredPerSecond),
    figures.acceptedPerSecondOwnConnection.toFixed(0),
    figures.accept.p50Ms.toFixed(1),
    figures.accept.p99Ms.toFixed(1),
    each(figures.load.cpuSeconds, figures.messages),
    each(figures.loadOwnConnection.cpuSeconds, figures.messagesOwnConnection),
    each(figures.load.mainThreadCpuSeconds, figures.messages),
    each(figures.loadOwnConnection.mainThreadCpuSeconds, figures.messagesOwnConnection),
    megabytes(figures.load.rssBytes),
    megabytes(figures.load.pssBytes),
    String(figures.load.processes),
  ])
  console.log(table(head, rows))
  console.log(`
accepted, in mailbox: connections kept; own connection, own: a new one for each message. p50, p99: final dot to 250.
CPU ms, main ms: of all threads and processes, and of the first thread of the first process, a message.
RSS, PSS: the peak of the sum over all processes; RSS counts a shared page in each of them, PSS once. smtp-server forgets all.`)
  if (outbound) {
    console.log(`\nOutbound: ${outboundMessages} sends over the API into smtp-sink, 20 connections\n`)
    const { sentPerSecond, arrivedPerSecond, load } = outbound
    const row = [
      'mailboxd',
      sentPerSecond.toFixed(0),
      arrivedPerSecond.toFixed(0),
      load.cpuSeconds.toFixed(2),
      each(load.mainThreadCpuSeconds, outboundMessages),
    ]
    console.log(
      table(
        ['messages/s', 'got 200', 'arrived', 'CPU s', 'main ms', 'RSS MB'],
        [[...row, megabytes(load.rssBytes)]],
      ),
    )
  }
  if (idle)
    console.log(
      `\nmailboxd idle: ${megabytes(idle.rssBytes)} MB; start to greeting: ${idle.startMs.toFixed(0)} ms`,
    )
  for (const reason of skipped) console.log(`\nnot measured: ${reason}`)
}

function progress(what: string): void {
  process.stderr.write(`measuring ${what}\n`)
}

const { values, positionals } = parseArgs({
  options: {
    json: { type: 'boolean' },
    peers: { type: 'boolean' },
    rounds: { type: 'string', default: '1' },
    messages: { type: 'string', default: '5000' },
    bytes: { type: 'string', default: '4096' },
    kind: { type: 'string', default: 'text' },
    stored: { type: 'string', default: '0' },
  },
  allowPositionals: true,
})
const unknown = positionals.filter(name => !subjects.includes(name))
if (unknown.length > 0)
  throw new Error(`no such subject: ${unknown.join(', ')}; there are ${subjects.join(', ')}`)
if (!isLoadKind(values.kind))
  throw new Error(`no such kind: ${values.kind}; there are ${loadKinds.join(', ')}`)
const named = positionals.length > 0 ? positionals : usual
const chosen: Chosen = {
  wanted: values.peers ? [...named, ...Object.keys(peers)] : named,
  messages: Number(values.messages),
  bytes: Number(values.bytes),
  kind: values.kind,
  stored: Number(values.stored),
}
const rounds = Number(values.rounds)
const measured: Figures[] = []
for (let round = 1; round <= rounds; round++) {
  if (rounds > 1) progress(`round ${round} of ${rounds}`)
  measured.push(await measure(chosen))
}
const figures = mediansOf(measured)
if (values.json) console.log(JSON.stringify(figures, null, 2))
else print(figures, chosen, rounds)
