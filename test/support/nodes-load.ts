import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { listQueuedDeliveries } from '../../lib/store/queued-deliveries.ts'
import { type Api, apiOf } from './api.ts'
import type { TestDaemon } from './daemon.ts'
import { openDialog } from './smtp-dialog.ts'
import { until } from './until.ts'

/** How long what waits is left to itself. */
const hurryMs = 20_000

/** The bound counts a minute. */
const boundLastsMs = 70_000

/** What several nodes were asked for under load, and what they said. */
export interface NodesLoad {
  /** Those that are to be asked now: some of them may just have ended. */
  readonly nodes: () => readonly TestDaemon[]
  readonly token: string
  /** Inboxes that mail comes to, in turns. */
  readonly inboxes: readonly { readonly id: string; readonly address: string }[]
  /** Whom is sent to. */
  readonly domains: readonly string[]
  readonly isOver: () => boolean
  /** Message-IDs of mail that got its 250, and of mail of which nobody knows whether it was taken. */
  readonly accepted: Set<string>
  readonly unsure: Set<string>
  /** The Message-ID of each send that got its 200, by its key. */
  readonly sent: Map<string, string>
  /** The ids of events as one reader was told them, who moves from node to node. */
  readonly told: string[]
  /** What must never be so, in words. */
  readonly faults: string[]
}

export function newNodesLoad(
  of: Pick<NodesLoad, 'nodes' | 'token' | 'inboxes' | 'domains' | 'isOver'>,
): NodesLoad {
  return { ...of, accepted: new Set(), unsure: new Set(), sent: new Map(), told: [], faults: [] }
}

const restMs = 200

const nodeAt = ({ nodes }: NodesLoad, number: number): TestDaemon => {
  const all = nodes()
  return all[number % all.length]!
}

const apiAt = (load: NodesLoad, number: number): Api => apiOf(nodeAt(load, number).baseUrl, load.token)

/** Mail from outside, each to the next node and inbox. Its number is that of the worker. */
async function bringsMail(load: NodesLoad, number: number): Promise<void> {
  for (let round = number; !load.isOver(); round++) {
    const messageId = `<${randomUUID()}@client.example>`
    const inbox = load.inboxes[round % load.inboxes.length]!
    const code = await bringOne(load, round, inbox.address, messageId).catch(() => undefined)
    if (code === 250) load.accepted.add(messageId)
    else load.unsure.add(messageId)
    await pause(restMs)
  }
}

async function bringOne(load: NodesLoad, round: number, to: string, messageId: string): Promise<number> {
  const dialog = await openDialog(nodeAt(load, round).smtpPort)
  try {
    await dialog.reply()
    await dialog.say('EHLO client.example')
    await dialog.envelope('bob@example.net', to)
    const header = `Message-ID: ${messageId}\r\nFrom: bob@example.net\r\nSubject: n ${round}`
    return (await dialog.data(`${header}\r\n\r\nNumber ${round}.\r\n`)).code
  } finally {
    dialog.vanish()
  }
}

/** Sends, each with a key that is asked for at two nodes at once, and again until both have said yes. */
async function sends(load: NodesLoad, number: number): Promise<void> {
  for (let round = number; !load.isOver(); round++) {
    const key = randomUUID()
    const to = `bob@${load.domains[round % load.domains.length]}`
    await Promise.all([sendUntilTaken(load, round, key, to), sendUntilTaken(load, round + 1, key, to)])
    await pause(restMs)
  }
}

async function sendUntilTaken(load: NodesLoad, round: number, key: string, to: string): Promise<void> {
  for (let tried = round; ; tried++) {
    const path = `/v1/inboxes/${load.inboxes[0]!.id}/send`
    const answer = await apiAt(load, tried)
      .post(path, { to, subject: key, body: 'Hello' }, { 'idempotency-key': key })
      .catch(() => undefined)
    if (answer?.status === 200) {
      const { providerMessageId } = answer.body
      if ((load.sent.get(key) ?? providerMessageId) !== providerMessageId)
        load.faults.push(`the key ${key} has two answers`)
      load.sent.set(key, providerMessageId)
      return
    }
    if (answer && ![408, 429, 503].includes(answer.status))
      load.faults.push(`a send was answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    // It may have been sent: who promised nothing may ask no more.
    if (load.isOver() && tried > round + 200) return
    await pause(restMs)
  }
}

/** Reads the stream of events at one node for a while, and goes on at the next where it was. */
async function reads(load: NodesLoad): Promise<void> {
  for (let round = 0; !load.isOver(); round++) {
    const ended = new AbortController()
    const timer = setTimeout(() => ended.abort(), 2_000)
    await readOnce(load, round, ended.signal).catch(() => {})
    clearTimeout(timer)
    ended.abort()
    await pause(restMs)
  }
}

async function readOnce(load: NodesLoad, round: number, signal: AbortSignal): Promise<void> {
  const last = load.told.at(-1)
  const response = await fetch(new URL('/v1/events/stream', nodeAt(load, round).baseUrl), {
    headers: { authorization: `Bearer ${load.token}`, ...(last && { 'last-event-id': last }) },
    signal,
  })
  if (response.status !== 200) return
  let rest = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + chunk).split('\n\n')
    rest = parts.pop()!
    for (const part of parts) {
      const id = /^id: ?(\S+)$/m.exec(part)?.[1]
      if (id !== undefined) load.told.push(id)
    }
  }
}

/** Works on the nodes until it is over: mail in, sends, and a reader of the stream. */
export async function workOnNodes(load: NodesLoad): Promise<void> {
  const workers = [0, 1, 2].map(number => bringsMail(load, number))
  await Promise.all([...workers, sends(load, 0), sends(load, 1), reads(load)])
}

/**
 * Has the last places of a plan raced for at all nodes at once, again and again: when they are had one is given up. It ends when it is over
 * and all are had.
 * @param places how many inboxes there may be
 */
export async function takesPlaces(load: NodesLoad, places: number): Promise<void> {
  const had = new Set<string>()
  const askAll = <T>(ask: (api: Api) => Promise<T>) =>
    Promise.all(load.nodes().map(one => ask(apiOf(one.baseUrl, load.token)).catch(() => undefined)))
  for (let isFull = false; !isFull || !load.isOver(); ) {
    const answers = await askAll(api => api.post('/v1/inboxes', {}))
    for (const answer of answers) {
      if (answer?.status === 201) had.add(answer.body.id)
      else if (answer && ![408, 422, 429, 503].includes(answer.status))
        load.faults.push(`an inbox was answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    }
    isFull = answers.some(answer => answer?.status === 422)
    const [one] = had
    if (isFull && one !== undefined && !load.isOver()) {
      had.delete(one)
      isFull = false
      await apiAt(load, had.size)
        .delete(`/v1/inboxes/${one}`)
        .catch(() => {})
    }
    await pause(10 * restMs)
  }
  const { data, total } = (await inTurn(() => apiAt(load, 0).get('/v1/inboxes?limit=100'))).body
  if (total > places) load.faults.push(`there are ${total} inboxes, and ${places} may be`)
  const there = new Set(data.map(({ id }: { id: string }) => id))
  for (const id of had) if (!there.has(id)) load.faults.push(`the inbox ${id} got its 201 and is not there`)
}

/** What one message became. */
interface Listed {
  readonly rfcMessageId: string
  readonly status: string
}

/** Asks until the bound of the key, which all nodes count together, allows it: the load may have met it. */
export const inTurn = (ask: () => ReturnType<Api['get']>): ReturnType<Api['get']> =>
  until(
    'its turn',
    async () => {
      const answer = await ask()
      return answer.status !== 429 && answer
    },
    boundLastsMs,
  )

/** All of a list of the API. @param next gives the query of the page after those that were read */
async function all<Item>(api: Api, path: string, next: (read: readonly Item[]) => string): Promise<Item[]> {
  const read: Item[] = []
  for (;;) {
    const answer = await inTurn(() => api.get(`${path}&limit=100${next(read)}`))
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    if (answer.body.data.length === 0) return read
    read.push(...answer.body.data)
  }
}

const listed = async (load: NodesLoad, direction: string): Promise<Listed[]> => {
  const lists = load.inboxes.map(({ id }) =>
    all<Listed>(
      apiAt(load, 0),
      `/v1/inboxes/${id}/messages?direction=${direction}`,
      read => `&offset=${read.length}`,
    ),
  )
  return (await Promise.all(lists)).flat()
}

const countOf = (ids: Iterable<string>): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}

/** How what was promised was kept: nothing but `doubles` and `figures` may be in it. */
export interface Kept {
  readonly broken: readonly string[]
  /** Message-IDs that were carried more than once, which RFC 5321 §4.2.5 leaves open to a server that ends between the final dot and its answer. */
  readonly doubles: readonly string[]
  readonly figures: string
}

/**
 * Compares what was promised with what there is, when all has come to its end.
 * @param taken the Message-IDs that the servers of others have taken
 * @param endMs how long that may take
 */
export async function lookAtPromises(
  load: NodesLoad,
  taken: readonly string[],
  endMs: number,
): Promise<Kept> {
  const broken = [...load.faults]
  let hurriedMs = performance.now()
  const outbound = await until(
    'all to be carried',
    async () => {
      const sent = await listed(load, 'outbound')
      if (sent.every(({ status }) => status !== 'pending')) return sent
      // What failed twice on a busy machine waits for five minutes; what a node has leased and forgotten is not hurried by this.
      if (performance.now() - hurriedMs > hurryMs) {
        hurriedMs = performance.now()
        await nodeAt(load, 0).ctl('queue', 'flush')
      }
      return undefined
    },
    endMs,
  ).catch(async error => {
    const queued = await nodeAt(load, 0).withRows(({ store }) => listQueuedDeliveries(store.read, {}, 100, 0))
    throw new Error(`${error.message}, with ${JSON.stringify(queued)} in the queue`)
  })
  const inbound = countOf((await listed(load, 'inbound')).map(one => one.rfcMessageId))
  for (const id of load.accepted)
    if (inbound.get(id) !== 1) broken.push(`${id} got its 250 and is there ${inbound.get(id) ?? 0} times`)
  for (const id of load.unsure)
    if ((inbound.get(id) ?? 0) > 1) broken.push(`${id} is there ${inbound.get(id)} times`)
  const made = countOf(outbound.map(one => one.rfcMessageId))
  const carried = countOf(taken)
  for (const [key, id] of load.sent) {
    if (made.get(id) !== 1) broken.push(`the send ${key} got its 200 and is there ${made.get(id) ?? 0} times`)
    if (!carried.has(id)) broken.push(`the send ${key} was never carried`)
  }
  for (const { rfcMessageId, status } of outbound)
    if (status !== 'sent') broken.push(`${rfcMessageId} is ${status}`)
  const events = await all<{ event_id: string }>(apiAt(load, 0), '/v1/events?', read =>
    read.length === 0 ? '' : `&after=${read.at(-1)!.event_id}`,
  )
  const ids = events.map(one => one.event_id)
  const [first, last] = [ids.indexOf(load.told[0]!), ids.indexOf(load.told.at(-1)!)]
  const missed = ids.slice(first, last + 1).filter(id => !load.told.includes(id))
  for (const id of missed) broken.push(`the reader was not told of ${id}`)
  for (const [id, count] of countOf(load.told))
    if (count > 1) broken.push(`the reader was told ${count} times of ${id}`)
  if (String(load.told.toSorted()) !== String(load.told)) broken.push('the reader was told in another order')
  const doubles = [...carried].filter(([, count]) => count > 1).map(([id]) => id)
  const figures = `${load.accepted.size} mails taken in (${load.unsure.size} refused or unknown), ${load.sent.size} sends, ${load.told.length} events read, ${doubles.length} carried twice`
  return { broken, doubles, figures }
}
