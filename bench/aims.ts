/**
 * `npm run aims [-- [--rounds N] [--stored N] [--loaded N] [--messages N] [--rest SECONDS] [--json]]`: what mailboxd aims at beside what it does, in one run on a
 * quiet machine. In each of five rounds (unless told) all take their turns, and each figure is the median of its rounds; four daemons live through all rounds:
 * one that is empty at first, one with what is stored, one that verifies and one that takes large mail. The other peers and the memory are measured once. Root, and what `sudo .ci/install-peers --bench` installs; some 20 minutes.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { databasePath } from '../lib/core/open-rows.ts'
import { freePort } from '../test/support/ports.ts'
import { type SmtpSink, startSmtpSink } from '../test/support/smtp-sink.ts'
import { aimTables, type OnceFigures, type OwnFigures, type RoundFigures } from './aim-table.ts'
import { call, launcher } from './calls.ts'
import { loadHttp } from './http-load.ts'
import { type InboundFigures, measureInbound, source } from './inbound.ts'
import { filledWith, measureInboundOf, type Row, storedInboxes, withoutInbound } from './inbound-row.ts'
import { mediansOf } from './medians.ts'
import { measureSends } from './outbound.ts'
import { measureOutboundOf, withoutOutbound } from './outbound-row.ts'
import { percentile } from './percentile.ts'
import { residentBytes } from './process-figures.ts'
import { proveAuthentic, type SignedMail, startSignedMail } from './signed-mail.ts'
import { startBareKoa } from './subject/bare-koa.ts'
import { type MailboxdSettings, type MailboxdSubject, startMailboxdSubject } from './subject/mailboxd.ts'

const calls = 5
const readSeconds = 2

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    messages: { type: 'string', default: '3000' },
    stored: { type: 'string', default: '1000000' },
    loaded: { type: 'string', default: '100000' },
    // By then the threads of a daemon without work have ended.
    rest: { type: 'string', default: '330' },
    json: { type: 'boolean' },
  },
})
const [rounds, messages, stored, loaded] = [values.rounds, values.messages, values.stored, values.loaded].map(
  Number,
) as [number, number, number, number]
const restMs = Number(values.rest) * 1000
const text: Row = { kind: 'text', bytes: 4096, messages, stored: 0 }
const signed: Row = { kind: 'signed', bytes: 4096, messages: messages / 2, stored: 0 }
const attachment: Row = {
  kind: 'attachment',
  bytes: 1024 ** 2,
  messages: Math.ceil(messages / 30),
  stored: 0,
}
const otherPeers = ['exim', 'opensmtpd', 'chasquid', 'haraka']
/** chasquid takes some twenty a second. */
const ofOthers: Row = { ...text, messages: messages / 6 }

const missing = [
  ...(['text', 'signed'] as const).flatMap(kind =>
    ['postfix', 'mailboxd'].map(name => withoutInbound(name, kind)),
  ),
  ...otherPeers.map(name => withoutInbound(name, 'text')),
  withoutOutbound('postfix with OpenDKIM'),
].filter(Boolean)
if (missing.length > 0) throw new Error(missing.join('\n'))

const startedAt = performance.now()
const dataDir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
let loadedAt = 0
const resting = await startMailboxdSubject(await freePort('127.0.0.2'))
const stops = new Set([resting.stop])
try {
  progress(`four daemons, one with ${stored} messages`)
  const signedMail = await startSignedMail()
  stops.add(signedMail.nameServer.stop)
  const owns: Owns = {
    empty: await startOwn({}),
    full: await startOwn({ ...filledWith(stored), dataDir }),
    verifying: await startOwn({ nameServer: signedMail.nameServer.address }),
    large: await startOwn({}),
    signedMail,
  }
  const measured: RoundFigures[] = []
  let idleBytes: number | undefined
  for (let round = 1; round <= rounds; round++) {
    measured.push(await measureRound(round, owns))
    if (performance.now() > startedAt + restMs) idleBytes ??= await measureIdle()
  }
  await owns.full.end()
  const storedStarts: number[] = []
  for (let n = 0; n < rounds; n++) storedStarts.push(await startOf(dataDir))
  const peers: Record<string, InboundFigures> = {}
  for (const name of otherPeers) {
    progress(name)
    peers[name] = await measureInboundOf(name, ofOthers)
  }
  idleBytes ??= await measureIdle()
  await pause(Math.max(0, loadedAt + restMs - performance.now()))
  const memory = { idleBytes, loadedBytes: residentBytes(resting.pid) }
  const once: OnceFigures = {
    peers,
    ...memory,
    storedStartMs: percentile(storedStarts, 50),
    loadedMessages: loaded,
    storedMessages: stored,
    storedInboxes,
  }
  const figures = mediansOf(measured)
  if (values.json) console.log(JSON.stringify({ ...figures, ...once }, null, 2))
  else {
    const minutes = ((performance.now() - startedAt) / 60_000).toFixed(0)
    console.log(
      `\n${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}; medians of ${rounds} rounds, ${minutes} minutes\n`,
    )
    console.log(aimTables(figures, once))
  }
} finally {
  for (const stop of [...stops].reverse()) await stop()
  rmSync(dataDir, { recursive: true })
}

interface Own {
  readonly mailboxd: MailboxdSubject
  readonly sink: SmtpSink
  end(): Promise<void>
}

/** Those that live through all rounds. */
interface Owns {
  readonly empty: Own
  readonly full: Own
  /** Asks the name server of this mail. */
  readonly verifying: Own
  readonly large: Own
  readonly signedMail: SignedMail
}

/**
 * One that takes part in all rounds, as a server lives: what V8 compiles it compiles in the first one.
 * @param settings what is in it before, and where it is kept
 */
async function startOwn(settings: MailboxdSettings): Promise<Own> {
  const sink = await startSmtpSink('127.0.0.2', await freePort('127.0.0.2'))
  stops.add(sink.stop)
  const mailboxd = await startMailboxdSubject(sink.port, settings)
  stops.add(mailboxd.stop)
  const end = () => {
    stops.delete(mailboxd.stop)
    return mailboxd.stop()
  }
  return { mailboxd, sink, end }
}

async function measureRound(
  round: number,
  { empty, full, verifying, large, signedMail }: Owns,
): Promise<RoundFigures> {
  const { privateKeyPem } = signedMail
  const inbound = (name: string, row: Row) => {
    progress(`round ${round} of ${rounds}: ${name}, ${row.kind}`)
    return measureInboundOf(name, row, signedMail)
  }
  const outbound = async (name: 'postfix' | 'postfix with OpenDKIM') => {
    progress(`round ${round} of ${rounds}: ${name}, outbound`)
    return (await measureOutboundOf(name, messages / 2, 0)).outbound
  }
  progress(`round ${round} of ${rounds}: mailboxd`)
  const mail = await measureMail(empty)
  progress(`round ${round} of ${rounds}: mailboxd with ${stored} messages`)
  const mailBesideStored = await measureMail(full)
  // By then what came and went is indexed: what is asked for is asked of a server at rest, next to the bare one.
  const starts = await measureStarts()
  const bare = await measureBare(empty.mailboxd)
  const own: OwnFigures = { ...mail, ...(await measureAnswers(empty.mailboxd)) }
  const besideStored: OwnFigures = { ...mailBesideStored, ...(await measureAnswers(full.mailboxd)) }
  return {
    ...starts,
    bare,
    stored: besideStored,
    postfix: {
      text: await inbound('postfix', text),
      signed: await inbound('postfix', { ...signed, messages: messages / 6 }),
      attachment: await inbound('postfix', attachment),
      relaying: await outbound('postfix'),
      signing: await outbound('postfix with OpenDKIM'),
    },
    own: {
      ...own,
      signed: await measureInbound(verifying.mailboxd, { ...signed, privateKeyPem, prove: proveAuthentic }),
      attachment: await measureInbound(large.mailboxd, attachment),
    },
    nodeMs: await medianOf(launcher('node'), ['-e', '0']),
    keyListMs: await medianOf(launcher('mailboxctl'), ['--config', resting.config, 'key', 'list']),
  }
}

/** mailboxd taking mail and sending. */
async function measureMail({ mailboxd, sink }: Own): Promise<Pick<OwnFigures, 'text' | 'sends'>> {
  const inbound = await measureInbound(mailboxd, text)
  return { text: inbound, sends: await measureSends(mailboxd, sink, messages / 2) }
}

/** From the start of the process to its greeting: of a new installation, which makes its keys and its tables, and of one that is there. */
async function measureStarts(): Promise<Pick<RoundFigures, 'firstStartMs' | 'startMs'>> {
  const place = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
  try {
    return { firstStartMs: await startOf(place), startMs: await startOf(place) }
  } finally {
    rmSync(place, { recursive: true })
  }
}

/** How long a start on this data directory takes. */
async function startOf(place: string): Promise<number> {
  const { startMs, stop } = await startMailboxdSubject(await freePort('127.0.0.2'), { dataDir: place })
  await stop()
  return startMs
}

async function measureAnswers({ api, token, inboxId }: Pick<MailboxdSubject, 'api' | 'token' | 'inboxId'>) {
  const read = async (path: string) =>
    (await loadHttp({ port: Number(new URL(api).port), token }, [path], { seconds: readSeconds })).perSecond
  return {
    list: await read(`/v1/inboxes/${inboxId}/messages`),
    inbox: await read(`/v1/inboxes/${inboxId}`),
  }
}

async function measureBare({ dataDir, inboxId, token }: MailboxdSubject): Promise<RoundFigures['bare']> {
  const bare = await startBareKoa(databasePath(dataDir), inboxId)
  try {
    return await measureAnswers({ api: `http://127.0.0.1:${bare.port}`, inboxId, token })
  } finally {
    await bare.stop()
  }
}

async function medianOf(program: string, args: readonly string[]): Promise<number> {
  const took: number[] = []
  for (let n = 0; n < calls; n++) took.push((await call(program, args)).wallMs)
  return percentile(took, 50)
}

/** The memory of a daemon that has rested since the start of this program. Afterwards it gets its load, and rests again. */
async function measureIdle(): Promise<number> {
  await pause(Math.max(0, startedAt + restMs - performance.now()))
  const bytes = residentBytes(resting.pid)
  progress(`${loaded} messages for the daemon that rested`)
  // A session may give 1,000 messages, and this many come to it over 20.
  for (let left = loaded; left > 0; left -= 10_000)
    await source(resting, Math.min(left, 10_000), text.bytes, ['-d'])
  loadedAt = performance.now()
  return bytes
}

function progress(what: string): void {
  process.stderr.write(`${((performance.now() - startedAt) / 1000).toFixed(0)} s: ${what}\n`)
}
