import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { SMTPServer } from 'smtp-server'
import type { Test } from 'tap'
import { WebSocket } from 'ws'
import { databasePath } from '../../lib/core/open-rows.ts'
import { type Api, apiOf } from './api.ts'
import type { TestDaemon } from './daemon.ts'
import { openDialog } from './smtp-dialog.ts'

/** What was promised under load: by its Message-ID, or that of the answer. */
export interface Promised {
  /** Messages that got their 250. */
  readonly received: Set<string>
  /** Sends that got their 200. */
  readonly sent: Set<string>
}

/** Who works on a daemon, until `isOver`; it may be another one from one moment to the next, or none. */
export interface Load {
  readonly daemon: () => TestDaemon
  readonly token: string
  readonly inbox: { readonly id: string; readonly address: string }
  readonly isOver: () => boolean
  readonly promised: Promised
}

const largeText = `${'x'.repeat(998)}\r\n`.repeat(600)
/** Between two of the same worker: the load is the same on every machine that can bear it. */
const restMs = 500

/** Does `work` over and over. A daemon that is killed breaks it off, and promised nothing. */
async function repeat(load: Load, work: (round: number) => Promise<unknown>, rest = restMs): Promise<void> {
  for (let round = 0; !load.isOver(); round++) {
    await work(round).catch(() => {})
    await pause(rest)
  }
}

/** Mail from outside, every twentieth large, some that is refused, some of which only half comes. */
export function bringsMail(load: Load): Promise<void> {
  return repeat(load, async round => {
    const dialog = await openDialog(load.daemon().smtpPort)
    try {
      await dialog.reply()
      await dialog.say('EHLO client.example')
      if (round % 7 === 3) await dialog.envelope('bob@example.net', 'nobody@ours.example')
      await dialog.envelope('bob@example.net', load.inbox.address)
      const messageId = `<${randomUUID()}@client.example>`
      const body = round % 20 === 0 ? largeText : `Number ${round}.\r\n`
      const content = `Message-ID: ${messageId}\r\nFrom: bob@example.net\r\nSubject: n ${round}\r\n\r\n${body}end`
      if (round % 11 === 5) return
      if ((await dialog.data(content)).code === 250) load.promised.received.add(messageId)
    } finally {
      dialog.vanish()
    }
  })
}

/** Sends to servers that take it, that refuse it, and that say nothing. */
export function sendsMail(load: Load, domains: readonly string[]): Promise<void> {
  return repeat(load, async round => {
    const to = `bob@${domains[round % domains.length]}`
    const answer = await apiNow(load).send(load.inbox.id, { to, subject: `n ${round}`, body: 'Hello' })
    if (answer.status === 200) load.promised.sent.add(answer.body.providerMessageId)
  })
}

/** Lists, searches, reads, marks and deletes drafts, as agents do. */
export function usesTheApi(load: Load): Promise<void> {
  return repeat(load, async round => {
    const api = apiNow(load)
    const { data } = (await api.get(`/v1/inboxes/${load.inbox.id}/messages?limit=20`)).body
    if (data.length > 0) await api.get(`/v1/messages/${data[round % data.length].id}/raw`)
    await api.get(`/v1/inboxes/${load.inbox.id}/messages?q=number`)
    const draft = await api.post(`/v1/inboxes/${load.inbox.id}/drafts`, {
      to: ['x@theirs.example'],
      subject: 'd',
    })
    if (draft.status === 201) await api.delete(`/v1/drafts/${draft.body.id}`)
  })
}

/** A subscriber that reads what comes, and every second time nothing for a while. */
export function subscribes(load: Load): Promise<void> {
  return repeat(load, async round => {
    const headers = { authorization: `Bearer ${load.token}` }
    const socket = new WebSocket(`${load.daemon().baseUrl.replace('http', 'ws')}/v1/ws`, { headers })
    socket.on('error', () => {})
    await once(socket, 'open')
    socket.send(JSON.stringify({ type: 'subscribe' }))
    if (round % 2 === 1) socket.pause()
    await Promise.race([once(socket, 'close'), pause(3_000)])
    socket.terminate()
  })
}

/** Another program that reads the database for seconds at a time: the log can't begin anew meanwhile. */
export function readsForeign(load: Load): Promise<void> {
  return repeat(
    load,
    async () => {
      const database = new Database(databasePath(load.daemon().dataDir), { readonly: true })
      try {
        database.exec('begin')
        database.prepare('select count(*) from "message"').get()
        await pause(4_000)
      } finally {
        database.close()
      }
    },
    2_000,
  )
}

const apiNow = ({ daemon, token }: Load): Api => apiOf(daemon().baseUrl, token)

export interface TakingServer {
  readonly port: number
  /** The Message-ID of each message that was taken, and when by the time that only goes forward. */
  readonly taken: string[]
  readonly takenAtMs: number[]
}

/** A mail server that refuses who is called so and takes all others; by Message-ID. */
export async function startTakingServer(t: Test): Promise<TakingServer> {
  const taken: string[] = []
  const takenAtMs: number[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    logger: false,
    onRcptTo({ address }, _session, callback) {
      const refusal = Object.assign(new Error('No such user'), { responseCode: 550 })
      callback(address.endsWith('@refuses.example') ? refusal : null)
    },
    onData(stream, _session, callback) {
      stream.toArray().then(
        chunks => {
          const raw = Buffer.concat(chunks).toString('latin1')
          taken.push(/^Message-ID: (<[^>]+>)\r$/im.exec(raw)?.[1] ?? 'none')
          takenAtMs.push(performance.now())
          callback()
        },
        () => callback(new Error('cut off')),
      )
    },
  })
  server.on('error', () => {})
  server.listen(0, '127.0.0.3')
  await once(server.server, 'listening')
  t.teardown(() => new Promise<void>(resolve => server.close(resolve)))
  return { port: (server.server.address() as AddressInfo).port, taken, takenAtMs }
}
