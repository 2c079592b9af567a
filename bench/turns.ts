/**
 * `npm run turns [-- WORD…]`: what strangers and clients can do to the event loop. Runs the built daemon, sends it each kind of
 * hostile mail and request from this process, and prints the longest turn of the daemon's event loop meanwhile and the
 * most memory that it took. With words, only what has one of them in its name.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { freePort } from '../test/support/ports.ts'
import { hostileMail } from './hostile-mail.ts'
import { type HostileRequest, hostileSends } from './hostile-requests.ts'
import { type MailboxdSubject, startMailboxdSubject } from './subject/mailboxd.ts'
import { table } from './table.ts'
import { watchTurns } from './turn-watch.ts'

const words = process.argv.slice(2)
const isWanted = (name: string) => words.length === 0 || words.some(word => name.includes(word))
const mebibyte = 1024 * 1024

const inspectorPort = await freePort('127.0.0.1')
const subject = await startMailboxdSubject(9, { nodeOptions: `--inspect=127.0.0.1:${inspectorPort}` })
const watch = await watchTurns(inspectorPort)
const rows: string[][] = []
try {
  const inboxes = await makeInboxes(90)
  for (const [name, { content, count = 1, inboxes: to = 1 }] of Object.entries(hostileMail)) {
    if (!isWanted(name)) continue
    const message = Buffer.from(`From: eve@evil.example\r\nSubject: ${name}\r\n${content}`)
    await measured(name, () =>
      Promise.all(Array.from({ length: count }, () => deliver(subject, message, inboxes.slice(0, to)))),
    )
  }
  for (const [name, make] of Object.entries(hostileSends)) {
    if (!isWanted(name)) continue
    const request = make()
    await measured(name, async () => [await post(`/v1/inboxes/${subject.inboxId}/send`, request)])
  }
  await measureDrafts()
  await measureReplies()
  await measureReading()
} finally {
  watch.close()
  await subject.stop()
}
console.log(table(['', 'longest turn ms', 'of it CPU ms', 'took ms', 'largest MB', 'answers'], rows))

/** Does it, and notes the longest turn meanwhile; `work` gives what it was answered. */
async function measured(name: string, work: () => Promise<readonly string[]>): Promise<void> {
  await settled()
  await watch.longest()
  const startedAt = performance.now()
  // What was the most until now is forgotten (proc_pid_clear_refs(5)).
  writeFileSync(`/proc/${subject.pid}/clear_refs`, '5')
  const answers = await work()
  const tookMs = performance.now() - startedAt
  await settled()
  const { ms, cpuMs } = await watch.longest()
  const counts = new Map<string, number>()
  for (const answer of answers) counts.set(answer, (counts.get(answer) ?? 0) + 1)
  const told = [...counts]
    .map(([answer, count]) => (count === 1 ? answer : `${count} × ${answer}`))
    .join(', ')
  rows.push([
    name,
    ms.toFixed(0),
    cpuMs.toFixed(0),
    tookMs.toFixed(0),
    (peakBytes() / mebibyte).toFixed(0),
    told,
  ])
  console.error(rows.at(-1)!.join(' | '))
}

/** What comes after an answer (queue, webhooks, the index) is the work of the same stranger. */
function settled(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 700))
}

/** The most memory that the daemon had at once. */
function peakBytes(): number {
  return Number(/VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${subject.pid}/status`, 'latin1'))![1]) * 1024
}

async function makeInboxes(count: number): Promise<string[]> {
  const addresses: string[] = []
  for (let n = 0; n < count; n++) {
    const { address } = (await ask('POST', '/v1/inboxes', '{}')).body as { address: string }
    addresses.push(address)
  }
  return addresses
}

async function ask(method: string, path: string, body?: string) {
  const answer = await fetch(`${subject.api}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${subject.token}`,
      'content-type': 'application/json',
      'idempotency-key': `${performance.now()}`,
    },
    ...(body !== undefined && { body }),
  })
  const bytes = Buffer.from(await answer.arrayBuffer())
  const isJson = answer.headers.get('content-type')?.startsWith('application/json')
  return {
    status: answer.status,
    bytes,
    body: isJson && bytes.length > 0 ? JSON.parse(String(bytes)) : undefined,
  }
}

async function post(path: string, { contentType, body, encoding }: HostileRequest): Promise<string> {
  const answer = await fetch(`${subject.api}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${subject.token}`,
      'content-type': contentType,
      'idempotency-key': `${performance.now()}`,
      ...(encoding !== undefined && { 'content-encoding': encoding }),
    },
    body: new Uint8Array(body),
  }).catch(error => error as Error)
  if (answer instanceof Error) return String(answer.cause ?? answer)
  await answer.arrayBuffer()
  return String(answer.status)
}

/** Brings one message to these inboxes; gives the reply to it. */
async function deliver(
  { address, port }: MailboxdSubject,
  message: Buffer,
  rcptTo: readonly string[],
): Promise<string> {
  const socket = connect({ host: address, port, noDelay: true }).setEncoding('latin1')
  const replies = lineReader(socket)
  const say = async (text: string | Buffer) => {
    socket.write(text)
    return replies()
  }
  await replies()
  await say('EHLO evil.example\r\n')
  await say('MAIL FROM:<eve@evil.example>\r\n')
  for (const path of rcptTo) await say(`RCPT TO:<${path}>\r\n`)
  await say('DATA\r\n')
  socket.write(message)
  const reply = await say('\r\n.\r\n')
  socket.destroy()
  return reply.slice(0, 9)
}

/** Gives the last line of the next reply. */
function lineReader(socket: NodeJS.ReadableStream): () => Promise<string> {
  const lines: string[] = []
  const waiting: ((line: string) => void)[] = []
  let rest = ''
  const add = (line: string) => {
    const next = waiting.shift()
    if (next) next(line)
    else lines.push(line)
  }
  socket.on('data', (text: string) => {
    const parts = (rest + text).split('\r\n')
    rest = parts.pop()!
    for (const line of parts) if (line[3] !== '-') add(line)
  })
  socket.on('error', () => {})
  socket.on('close', () => add('the end'))
  return () => new Promise(resolve => (lines.length > 0 ? resolve(lines.shift()!) : waiting.push(resolve)))
}

/** A draft with 25 MB, made and sent. */
async function measureDrafts(): Promise<void> {
  if (!isWanted('a draft of 25 MB')) return
  let id = ''
  await measured('a draft of 25 MB', async () => {
    const content = Buffer.alloc(25 * mebibyte, 'x').toString('base64')
    const draft = {
      to: ['bob@sink.test'],
      subject: 'x',
      body: 'x',
      attachments: [{ filename: 'a', content }],
    }
    const { status, body } = await ask('POST', `/v1/inboxes/${subject.inboxId}/drafts`, JSON.stringify(draft))
    id = body.id
    return [String(status)]
  })
  await measured('a draft of 25 MB, sent', async () => [
    String((await ask('POST', `/v1/drafts/${id}/send`)).status),
  ])
}

/** Replies that quote what a stranger wrote. */
async function measureReplies(): Promise<void> {
  for (const name of ['HTML, <b><i><p>', 'HTML, <h1>a</h1>', 'HTML, <table>', 'codes and links']) {
    if (!isWanted(`a reply to: ${name}`)) continue
    const inbox = (await ask('POST', '/v1/inboxes', '{}')).body as { id: string; address: string }
    const message = `From: bob@sink.test\r\nSubject: ${name}\r\n${hostileMail[name]!.content}`
    await deliver(subject, Buffer.from(message), [inbox.address])
    const { data } = (await ask('GET', `/v1/inboxes/${inbox.id}/messages`)).body
    const { threadId } = data[0]
    const reply = { to: 'bob@sink.test', body: 'x', bodyHtml: '<p>x', threadId }
    await measured(`a reply to: ${name}`, async () => [
      String((await ask('POST', `/v1/inboxes/${inbox.id}/send`, JSON.stringify(reply))).status),
    ])
  }
}

/** Answers that are large. */
async function measureReading(): Promise<void> {
  if (!isWanted('answers')) return
  const inbox = (await ask('POST', '/v1/inboxes', '{}')).body as { id: string; address: string }
  const send = (text: string, more: string) =>
    deliver(
      subject,
      Buffer.from(
        `From: eve@evil.example\r\nSubject: page\r\nMessage-ID: <${performance.now()}@x>\r\n${more}\r\n${text}`,
      ),
      [inbox.address],
    )
  const words = 'čeština "slovo" \u0001\\ '
  const line = `${words.repeat(40)}\r\n`
  for (let n = 0; n < 100; n++)
    await send(line.repeat(20), 'References: <page@x>\r\nContent-Type: text/plain; charset=utf-8\r\n')
  const list = `/v1/inboxes/${inbox.id}/messages?limit=100`
  const page = async (path: string) => {
    const { status, bytes } = await ask('GET', path)
    return `${status} ${(bytes.length / mebibyte).toFixed(1)} MB`
  }
  await measured('answers: a page of 2 MB', async () => [await page(list)])
  await measured('answers: 20 pages of 2 MB', () => Promise.all(Array.from({ length: 20 }, () => page(list))))
  for (let n = 0; n < 100; n++)
    await send(line.repeat(1300), 'References: <page@x>\r\nContent-Type: text/plain; charset=utf-8\r\n')
  const { data } = (await ask('GET', list)).body as {
    data: { id: string; threadId: string; attachments: object[] }[]
  }
  const [first] = data
  await measured('answers: a page of 100 × 1 MB', async () => [await page(list)])
  await measured('answers: 20 pages of 100 × 1 MB', () =>
    Promise.all(Array.from({ length: 20 }, () => page(list))),
  )
  await measured('answers: search', async () => [await page(`${list}&q=slovo`)])
  await measured('answers: a message of 1 MB', async () => [await page(`/v1/messages/${first!.id}`)])
  await measured('answers: 20 messages of 1 MB', () =>
    Promise.all(data.slice(0, 20).map(({ id }) => page(`/v1/messages/${id}`))),
  )
  await measured('answers: its thread', async () => [await page(`/v1/threads/${first!.threadId}/messages`)])
  await measured('answers: 100 waits, a mail of 1 MB', async () => {
    const waits = Array.from({ length: 100 }, () => page(`/v1/inboxes/${inbox.id}/messages/wait?timeout=30`))
    await settled()
    await send(line.repeat(1300), '')
    return Promise.all(waits)
  })
  for (const [kind, body] of [
    ['base64', `Content-Transfer-Encoding: base64\r\n\r\n${`${'QUJD'.repeat(19)}\r\n`.repeat(320_000)}`],
    [
      'quoted-printable',
      `Content-Transfer-Encoding: quoted-printable\r\n\r\n${'=41=\r\n'.repeat(4_000_000)}`,
    ],
    [
      'uuencode',
      `Content-Transfer-Encoding: uuencode\r\n\r\nbegin 644 a\r\n${`M${'04%!'.repeat(15)}\r\n`.repeat(380_000)}end\r\n`,
    ],
  ]) {
    await send(
      '',
      `Content-Type: application/zip\r\nContent-Disposition: attachment; filename=a.zip\r\n${body}`,
    )
    const message = (await ask('GET', `/v1/inboxes/${inbox.id}/messages?limit=1`)).body.data[0]
    await measured(`answers: an attachment of 24 MB in ${kind}`, async () => [
      await page(`/v1/attachments/${message.id}/0/a.zip`),
    ])
    await measured(`answers: the raw of it, with its trace`, async () => [
      await page(`/v1/messages/${message.id}/raw?trace=true`),
    ])
  }
}
