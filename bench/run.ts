/**
 * `npm run bench [-- [--json] [--rounds N] [--messages N] [--bytes N] [--kind KIND] [--stored N] [--peers] [SUBJECT…]]`: measures mailboxd beside Postfix
 * and smtp-server alone, on this machine in one run, the load generator on the same cores. Needs root for Postfix. All of these
 * subjects unless told, with --peers Exim, OpenSMTPD, chasquid and Haraka, too; `sends` is the way out, of
 * Postfix relaying, of Postfix with OpenDKIM signing, and of mailboxd. With rounds the subjects take turns, and
 * each figure is the median of its rounds. KIND of the mail that comes in: `text`; `attachment`, text and an attachment in base64; `signed`, with
 * a DKIM signature, from a domain with SPF and DMARC, which mailboxd and Postfix (with what Debian has for that) verify.
 */
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import type { InboundFigures } from './inbound.ts'
import { inboundSubjects, measureInboundOf, type Row, storedInboxes, withoutInbound } from './inbound-row.ts'
import { isLoadKind, loadKinds } from './load-message.ts'
import { mediansOf } from './medians.ts'
import { measureOutboundOf, type OutboundRow, outboundSubjects, withoutOutbound } from './outbound-row.ts'
import { peers } from './subject/peer.ts'
import { table } from './table.ts'

const usual = ['smtp-server', 'postfix', 'mailboxd', 'sends']
const subjects = [...inboundSubjects, 'sends']
const outboundMessages = 2000

interface Figures {
  readonly machine: string
  readonly inbound: Record<string, InboundFigures>
  readonly outbound: Record<string, OutboundRow>
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
  const outbound: Record<string, OutboundRow> = {}
  for (const name of wanted.includes('sends') ? outboundSubjects : []) {
    const missing = withoutOutbound(name)
    if (missing) skipped.push(`${name}, outbound: ${missing}`)
    else {
      progress(`${name}, outbound`)
      outbound[name] = await measureOutboundOf(name, outboundMessages, row.stored)
    }
  }
  return {
    machine: `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}`,
    inbound,
    outbound,
    skipped,
  }
}

function print(
  { machine, inbound, outbound, skipped }: Figures,
  { messages, bytes, kind, stored }: Chosen,
  rounds: number,
): void {
  const postfix = inbound.postfix
  const megabytes = (bytes: number) => (bytes / 1024 / 1024).toFixed(0)
  const ratio = (rate: number) => (postfix ? `${(rate / postfix.deliveredPerSecond).toFixed(2)}×` : '')
  const each = (seconds: number, messages: number) => ((seconds * 1000) / messages).toFixed(2)
  console.log(`\n${machine}\n`)
  if (Object.keys(inbound).length > 0) {
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
  }
  if (Object.keys(outbound).length > 0) {
    console.log(
      `\nOutbound: ${outboundMessages} messages into smtp-sink, 20 connections; mailboxd sends over its API and signs, Postfix relays\n`,
    )
    const rows = Object.entries(outbound).map(([name, { outbound: figures }]) => [
      name,
      figures.sentPerSecond.toFixed(0),
      figures.arrivedPerSecond.toFixed(0),
      ...['postfix', 'postfix with OpenDKIM'].map(other => {
        const base = outbound[other]?.outbound.arrivedPerSecond
        return base ? `${(figures.arrivedPerSecond / base).toFixed(2)}×` : ''
      }),
      each(figures.load.cpuSeconds, figures.messages),
      each(figures.load.mainThreadCpuSeconds, figures.messages),
      megabytes(figures.load.rssBytes),
    ])
    const head = [
      'messages/s',
      'accepted',
      'arrived',
      'to Postfix',
      'to signing',
      'CPU ms',
      'main ms',
      'RSS MB',
    ]
    console.log(table(head, rows))
  }
  const idle = outbound.mailboxd?.idle
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
