import type { Test } from 'tap'
import { type Api, apiOf } from './api.ts'
import { startDaemon, type TestDaemon } from './daemon.ts'
import { submit } from './smtp-client.ts'
import { until } from './until.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails when it is not there
type Json = any

/** A mail from outside; what is left out is made up. */
export interface Arrival {
  readonly from?: string
  readonly to: string
  /** Lines of the header as they are; without From or To, those of the envelope stand there. */
  readonly headers?: readonly string[]
  readonly text?: string
}

/** A daemon that is seen from outside only, to be held against the specification. */
export interface Specified {
  readonly daemon: TestDaemon
  /** With an account key. */
  readonly api: Api
  readonly token: string
  as(token: string | undefined): Api
  /** POST /v1/inboxes: the inbox. */
  inbox(body?: unknown): Promise<Json>
  /** Hands a mail in by SMTP and gives the message that it became. */
  arrive(inboxId: string, arrival: Arrival): Promise<Json>
  /** Hands a mail in by SMTP. */
  handIn(arrival: Arrival): Promise<string>
  /** The original of a message, as text. */
  raw(messageId: string): Promise<string>
}

export async function startSpecified(
  t: Test,
  settings: Parameters<typeof startDaemon>[1] = {},
): Promise<Specified> {
  const daemon = await startDaemon(t, settings)
  const { token } = await daemon.createKey()
  const api = apiOf(daemon.baseUrl, token)
  let mails = 0
  const handIn = ({ from = 'bob@theirs.example', to, headers = [], text = 'Hello' }: Arrival) => {
    const has = (name: string) => headers.some(line => line.toLowerCase().startsWith(`${name}:`))
    const lines = [
      ...(has('from') ? [] : [`From: ${from}`]),
      ...(has('to') ? [] : [`To: ${to}`]),
      ...(has('message-id') ? [] : [`Message-ID: <${++mails}@theirs.example>`]),
      ...(has('date') ? [] : ['Date: Fri, 20 Nov 2026 10:00:00 +0000']),
      ...headers,
      '',
      text,
      '',
    ]
    return submit('127.0.0.1', daemon.smtpPort, { from, to: [to], raw: Buffer.from(lines.join('\r\n')) })
  }
  return {
    daemon,
    api,
    token,
    as: other => apiOf(daemon.baseUrl, other),
    inbox: async (body = {}) => (await api.post('/v1/inboxes', body)).body,
    handIn,
    async arrive(inboxId, arrival) {
      const list = async () =>
        (await api.get(`/v1/inboxes/${inboxId}/messages?direction=inbound&limit=100`)).body
      const { total } = await list()
      await handIn(arrival)
      return until('the mail', async () => {
        const now = await list()
        return now.total > total ? now.data[0] : undefined
      })
    },
    raw: async messageId => (await api.get(`/v1/messages/${messageId}/raw`)).bytes.toString(),
  }
}

/** The value of a field of the header, unfolded; undefined without it. */
export function fieldOf(raw: string, name: string): string | undefined {
  const header = raw.split('\r\n\r\n')[0]!
  return new RegExp(`^${name}: ((?:.*\\r\\n[ \\t])*.*)`, 'im').exec(header)?.[1]?.replaceAll(/\r\n\s+/g, ' ')
}

/** The fields of an object that are there though they should not be, or the other way round. */
export function unlike(object: object, fields: readonly string[]): string[] {
  const there = Object.keys(object)
  return [...there.filter(name => !fields.includes(name)), ...fields.filter(name => !there.includes(name))]
}
