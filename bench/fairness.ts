/**
 * `bin/node bench/fairness.ts [hanging] [backlog] [fresh] [entries]`: how long healthy mail takes from its 200 to the other server's while
 * 1,000 hosts take connections and say nothing, in front of a backlog of 100,000 of which nine tenths fail, and in front of 100,000 that
 * were never tried, each to a domain of its own that takes nothing. Needs `npm run build`.
 */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { startPeer } from '../test/courier/smtp/scripted-peer.ts'
import { freePort } from '../test/support/ports.ts'
import { percentile } from './percentile.ts'
import { fillBacklog, triedDomain } from './subject/backlog.ts'
import { type MailboxdSubject, startMailboxdSubject } from './subject/mailboxd.ts'

const hangingHosts = 1000
const wanted = process.argv.slice(2).filter(word => !/^\d+$/.test(word))
const backlogEntries = Number(process.argv.slice(2).find(word => /^\d+$/.test(word)) ?? 100_000)
const healthyMails = 400
const everyMs = 100
const sinkAddress = '127.0.0.2'

/** When each mail came to the sink, by its subject. */
type Arrivals = Map<string, number>

async function send(subject: MailboxdSubject, to: string, name: string): Promise<void> {
  const response = await fetch(`${subject.api}/v1/inboxes/${subject.inboxId}/send`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${subject.token}`,
      'content-type': 'application/json',
      'idempotency-key': name,
    },
    body: JSON.stringify({ to, subject: name, body: 'Is anybody there?' }),
  })
  if (response.status !== 200) throw new Error(`send answered ${response.status}: ${await response.text()}`)
  await response.arrayBuffer()
}

/** Sends healthy mail at a steady rate and prints what became of it; each to a domain of its own, or all to one. */
async function measure(
  what: string,
  subject: MailboxdSubject,
  arrivals: Arrivals,
  ownDomains: boolean,
): Promise<void> {
  const sentAt = new Map<string, number>()
  const sends: Promise<void>[] = []
  for (let n = 0; n < healthyMails; n++) {
    const name = `${what.replaceAll(/[^a-z]/gi, '')}-${n}`
    const domain = ownDomains ? `good${n}.test` : 'sink.test'
    sends.push(send(subject, `bob@${domain}`, name).then(() => void sentAt.set(name, performance.now())))
    await pause(everyMs)
  }
  await Promise.all(sends)
  for (
    let waited = 0;
    waited < 120_000 && [...sentAt.keys()].some(name => !arrivals.has(name));
    waited += 100
  ) {
    await pause(100)
  }
  const took = [...sentAt].map(([name, at]) =>
    Math.max(0, (arrivals.get(name) ?? Number.POSITIVE_INFINITY) - at),
  )
  const figure = (percent: number) => percentile(took, percent).toFixed(0)
  console.log(
    `${what}: p50 ${figure(50)} ms, p99 ${figure(99)} ms, most ${figure(100)} ms, of ${took.length}`,
  )
}

/** A server that accepts connections and says nothing, or one line, at many addresses of this machine. */
async function startMute(addresses: readonly string[], port: number, line?: string) {
  const sockets = new Set<Socket>()
  let most = 0
  const servers = addresses.map(address =>
    createServer(socket => {
      sockets.add(socket)
      most = Math.max(most, sockets.size)
      socket.on('close', () => sockets.delete(socket))
      socket.on('error', () => socket.destroy())
      socket.resume()
      if (line !== undefined) socket.end(line)
    }).listen(port, address),
  )
  await Promise.all(servers.map(server => server.listening || once(server, 'listening')))
  return {
    most: () => most,
    stop() {
      for (const socket of sockets) socket.destroy()
      for (const server of servers) server.close()
    },
  }
}

const muteAddress = (n: number) => `127.1.${n >> 8}.${n & 255}`

async function startSink(port: number) {
  const arrivals: Arrivals = new Map()
  const peer = await startPeer(sinkAddress, port, {
    message: () => {
      const subject = /^Subject: (.*)$/m.exec(peer.messages.at(-1)!)?.[1]?.trim()
      if (subject) arrivals.set(subject, performance.now())
      return '250 2.0.0 taken'
    },
  })
  return { arrivals, peer }
}

function zone() {
  const records: Record<string, object> = {}
  const add = (domain: string, address: string) => {
    records[domain] = { MX: [{ priority: 10, exchange: `mx.${domain}` }] }
    records[`mx.${domain}`] = { A: [address] }
  }
  for (let n = 0; n < hangingHosts; n++) add(`mute${n}.test`, muteAddress(n))
  for (let n = 0; n < healthyMails; n++) add(`good${n}.test`, sinkAddress)
  // Of the backlog: refused at RCPT for now, and nobody there.
  for (let n = 0; n < 1000; n++) add(`later${n}.test`, '127.0.0.3')
  for (let n = 0; n < 1000; n++) add(`down${n}.test`, `127.2.${n >> 8}.${n & 255}`)
  return records
}

async function hanging(): Promise<void> {
  const port = await freePort(sinkAddress, '127.0.0.3')
  const mute = await startMute(
    Array.from({ length: hangingHosts }, (_, n) => muteAddress(n)),
    port,
  )
  const { arrivals, peer } = await startSink(port)
  const subject = await startMailboxdSubject(port, { zone: zone() })
  try {
    await send(subject, 'bob@sink.test', 'first')
    while (!arrivals.has('first')) await pause(50)
    const numbers = Array.from({ length: hangingHosts }, (_, n) => n).values()
    const sendNext = async () => {
      for (const n of numbers) await send(subject, `bob@mute${n}.test`, `mute-${n}`)
    }
    await Promise.all(Array.from({ length: 10 }, sendNext))
    await measure('1,000 hosts hang, one known domain', subject, arrivals, false)
    await measure('1,000 hosts hang, each mail to a new domain', subject, arrivals, true)
    console.log(`connections to hosts that hang at one time: ${mute.most()}`)
  } finally {
    await subject.stop()
    mute.stop()
    await peer.close()
  }
}

/** Where the servers of a domain are that mail goes to for the first time: of three one hangs, one refuses, and one is not there. */
const freshAddress = (n: number) => `127.3.${(n >> 8) & 3}.${n & 255}`

async function fresh(): Promise<void> {
  const port = await freePort(sinkAddress, '127.0.0.3')
  const { arrivals, peer } = await startSink(port)
  const at = (kind: number) =>
    Array.from({ length: 1024 }, (_, n) => n)
      .filter(n => n % 3 === kind)
      .map(freshAddress)
  const mute = await startMute(at(0), port)
  const refusing = await startMute(at(1), port, '450 4.3.0 not now\r\n')
  const records: Record<string, object> = zone()
  for (let n = 0; n < backlogEntries; n++) {
    records[`fresh${n}.test`] = { MX: [{ priority: 10, exchange: `mx.fresh${n}.test` }] }
    records[`mx.fresh${n}.test`] = { A: [freshAddress(n)] }
  }
  const subject = await startMailboxdSubject(port, {
    zone: records,
    prepare: config => fillBacklog(config, backlogEntries, n => `fresh${n}.test`, 0),
  })
  try {
    await measure(`${backlogEntries} to new domains, one domain`, subject, arrivals, false)
    await measure(`${backlogEntries} to new domains, each mail to a new domain`, subject, arrivals, true)
    console.log(`of the backlog: at most ${mute.most()} hang and ${refusing.most()} refuse at one time`)
  } finally {
    await subject.stop()
    mute.stop()
    refusing.stop()
    await peer.close()
  }
}

async function backlog(): Promise<void> {
  const port = await freePort(sinkAddress, '127.0.0.3')
  const { arrivals, peer } = await startSink(port)
  const later = await startPeer('127.0.0.3', port, { RCPT: '450 4.2.0 come back' })
  const mute = await startMute(
    Array.from({ length: hangingHosts }, (_, n) => muteAddress(n)),
    port,
  )
  const subject = await startMailboxdSubject(port, {
    zone: zone(),
    prepare: config => fillBacklog(config, backlogEntries, triedDomain, 1),
  })
  try {
    await measure(`backlog of ${backlogEntries}, one domain`, subject, arrivals, false)
    await measure(`backlog of ${backlogEntries}, each mail to a new domain`, subject, arrivals, true)
    console.log(`of the backlog: ${peer.messages.length} taken, ${later.commands.length} commands refused`)
  } finally {
    await subject.stop()
    mute.stop()
    await Promise.all([peer.close(), later.close()])
  }
}

if (wanted.length === 0 || wanted.includes('hanging')) await hanging()
if (wanted.length === 0 || wanted.includes('backlog')) await backlog()
if (wanted.length === 0 || wanted.includes('fresh')) await fresh()
