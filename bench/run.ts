/**
 * `npm run bench [-- [--json] [--rounds N] [--messages N] [--bytes N] [--stored N] [--peers] [SUBJECT…]]`: measures mailboxd beside Postfix
 * and smtp-server alone, on this machine in one run, the load generator on the same cores. Needs root for Postfix. All of these
 * subjects unless told, with --peers Exim and OpenSMTPD, too; `sends` is mailboxd's sending alone. With rounds the subjects take turns, and
 * each figure is the median of its rounds.
 */
import { cpus } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { loadConfig } from '../lib/config/load.ts'
import { databasePath } from '../lib/core/open-rows.ts'
import { type Peer, without } from '../test/support/peers.ts'
import { freePort } from '../test/support/ports.ts'
import { startSmtpSink } from '../test/support/smtp-sink.ts'
import { type InboundFigures, measureInbound } from './inbound.ts'
import { mediansOf } from './medians.ts'
import { measureOutbound, type OutboundFigures } from './outbound.ts'
import { residentBytes } from './process-figures.ts'
import { storeMessages } from './stored.ts'
import { withInstallation } from './subject/installation.ts'
import { type MailboxdSettings, startMailboxdSubject, withoutMailboxd } from './subject/mailboxd.ts'
import { peers, startPeerSubject } from './subject/peer.ts'
import { startSmtpServerSubject } from './subject/smtp-server.ts'
import type { Subject } from './subject/subject.ts'
import { table } from './table.ts'

const usual = ['smtp-server', 'postfix', 'mailboxd']
const subjects = [...new Set([...usual, ...Object.keys(peers), 'sends'])]
const outboundMessages = 2000
const storedInboxes = 10_000
const settleMs = 2000

interface Figures {
  readonly machine: string
  readonly inbound: Record<string, InboundFigures>
  readonly outbound?: OutboundFigures
  readonly idle?: { readonly startMs: number; readonly rssBytes: number }
  readonly skipped: readonly string[]
}

interface Chosen {
  readonly wanted: readonly string[]
  readonly messages: number
  readonly bytes: number
  readonly stored: number
}

async function measure({ wanted, messages, bytes, stored }: Chosen): Promise<Figures> {
  const inbound: Record<string, InboundFigures> = {}
  const skipped: string[] = []
  const measured = async (name: string, start: () => Promise<Subject>) => {
    progress(`${name}, inbound`)
    const subject = await start()
    try {
      inbound[name] = await measureInbound(subject, messages, bytes)
    } finally {
      await subject.stop()
    }
  }
  const may = (name: string, missing: string | false) => {
    if (!wanted.includes(name)) return false
    if (missing) skipped.push(`${name}: ${missing}`)
    return !missing
  }

  if (may('smtp-server', without('smtp-source'))) await measured('smtp-server', startSmtpServerSubject)
  for (const name of Object.keys(peers)) {
    if (may(name, without(name as Peer, 'smtp-source'))) await measured(name, () => startPeerSubject(name))
  }
  let own: Pick<Figures, 'outbound' | 'idle'> = {}
  if (may('mailboxd', without('smtp-source', 'smtp-sink') || withoutMailboxd())) {
    await measured('mailboxd', async () =>
      startMailboxdSubject(await freePort('127.0.0.2'), filledWith(stored)),
    )
  }
  const isSending = wanted.includes('mailboxd') ? 'mailboxd' : 'sends'
  if (may(isSending, without('smtp-source', 'smtp-sink') || withoutMailboxd())) own = await measureOwn(stored)
  return {
    machine: `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}`,
    inbound,
    ...own,
    skipped,
  }
}

/** A data directory that has so many messages in 10,000 inboxes before it starts. */
function filledWith(stored: number): MailboxdSettings {
  if (stored === 0) return {}
  return {
    async prepare(path) {
      progress(`how to fill it with ${stored} messages`)
      const config = await loadConfig(path)
      await withInstallation(config, async () => {})
      storeMessages(databasePath(config.data_dir), stored, storedInboxes)
    },
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
  { messages, bytes, stored }: Chosen,
  rounds: number,
): void {
  const postfix = inbound.postfix
  const megabytes = (bytes: number) => (bytes / 1024 / 1024).toFixed(0)
  const ratio = (rate: number) => (postfix ? `${(rate / postfix.deliveredPerSecond).toFixed(2)}×` : '')
  console.log(`\n${machine}\n`)
  console.log(
    `Inbound: ${messages} messages of ${bytes} bytes, 20 connections; the load generator on the same cores; medians of ${rounds}${stored > 0 ? `; mailboxd has ${stored} messages in ${storedInboxes} inboxes` : ''}\n`,
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
    stored: { type: 'string', default: '0' },
  },
  allowPositionals: true,
})
const unknown = positionals.filter(name => !subjects.includes(name))
if (unknown.length > 0)
  throw new Error(`no such subject: ${unknown.join(', ')}; there are ${subjects.join(', ')}`)
const named = positionals.length > 0 ? positionals : usual
const chosen: Chosen = {
  wanted: values.peers ? [...named, ...Object.keys(peers)] : named,
  messages: Number(values.messages),
  bytes: Number(values.bytes),
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
