import type { RawData, WebSocket } from 'ws'
import { streamFrames, streamFramesMs } from '../api/event-stream.ts'
import { compileValidator } from '../api/validate.ts'
import {
  type WsClientMessage,
  type WsServerMessage,
  type WsSubscribe,
  webSocketRequests,
} from '../api/web-socket.ts'
import { invalidRequest, Problem } from '../base/problem.ts'
import { choiceInWords } from '../base/text.ts'
import type { App } from '../core/app/app.ts'
import type { Caller } from '../core/app/caller.ts'
import type { EventReader } from '../core/app/stream.ts'
import { streamSubscriptions } from '../core/events/reader.ts'
import { listMeantInboxes, readInboxIds, readSubscription } from '../core/events/subscription.ts'
import { type MemoryBudget, ownerOf, type StreamConnection, streamMemory } from './memory.ts'
import { closeWebSocket, createWebSocketSink, cutLater } from './websocket-sink.ts'

const validators = {
  subscribe: compileValidator(webSocketRequests.subscribe, 'message'),
  unsubscribe: compileValidator(webSocketRequests.unsubscribe, 'message'),
  ping: compileValidator(webSocketRequests.ping, 'message'),
}

/** A WebSocket of a caller, from its opening to its end: takes what the client says, in order, and tells it events. */
export function serveWebSocket(app: App, memory: MemoryBudget, socket: WebSocket, caller: Caller): void {
  const { clock, log } = app
  const about = { path: '/v1/ws', keyId: caller.keyId }
  // What breaks the protocol was answered with its close code by ws already.
  socket.on('error', error => {
    log.debug({ ...about, err: error }, 'WebSocket broke')
    cutLater(socket)
  })
  const reader = open()
  if (!reader) return
  const arrivedAt: number[] = []
  let work = Promise.resolve()
  socket.on('message', (data, isBinary) => {
    if (!mayArrive()) return
    work = work.then(() => answer(data, isBinary)).catch(fail)
  })
  socket.on('ping', mayArrive)

  function open(): EventReader | undefined {
    try {
      const roomOf = (connection: StreamConnection) => streamMemory(memory, ownerOf(caller, ''), connection)
      const { reader, close } = app.stream.open(caller, createWebSocketSink(socket, clock, roomOf))
      log.debug(about, 'WebSocket opened')
      socket.once('close', code => {
        close()
        log.debug({ ...about, code }, 'WebSocket closed')
      })
      return reader
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      closeWebSocket(socket, error.code === 'too_many_streams' ? 'tooManyStreams' : 'full')
      return undefined
    }
  }

  /** Counts what comes; after too much of it the rest is not looked at. */
  function mayArrive(): boolean {
    if (socket.readyState !== socket.OPEN) return false
    const now = clock.monotonicMs()
    arrivedAt.push(now)
    if (arrivedAt.length <= streamFrames) return true
    if (now - arrivedAt.shift()! >= streamFramesMs) return true
    closeWebSocket(socket, 'tooManyMessages')
    return false
  }

  function say(message: WsServerMessage): void {
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message))
  }

  function fail(error: unknown): void {
    if (error instanceof Problem) {
      const { details } = error.more
      say({ type: 'error', message: error.message, ...(Array.isArray(details) && { details }) })
      return
    }
    log.error({ ...about, err: error }, 'a message over a WebSocket met a fault')
    closeWebSocket(socket, 'fault')
  }

  async function answer(data: RawData, isBinary: boolean): Promise<void> {
    const message = readMessage(data, isBinary)
    switch (message.type) {
      case 'ping':
        return say({ type: 'pong' })
      case 'unsubscribe':
        return unsubscribe(message.inbox_ids ?? [])
      case 'subscribe':
        return subscribe(message)
    }
  }

  async function subscribe({ inbox_ids, event_types, last_event_id }: WsSubscribe): Promise<void> {
    const { subscription, faults } = await readSubscription(app, caller, {
      inboxIds: inbox_ids ?? [],
      types: event_types ?? [],
      after: last_event_id ?? undefined,
    })
    const [first, ...others] = faults
    if (first) fail(invalidRequest(`message${first.path}`, first.message, others))
    const isOutOfReach = subscription.inboxIds?.size === 0
    if (isOutOfReach && !reader!.isSubscribed) closeWebSocket(socket, 'forbidden')
    // What was named is not there: that must not come to mean everything.
    if (isOutOfReach || subscription.types?.size === 0) return
    const meant = await listMeantInboxes(app, caller, subscription)
    if (socket.readyState !== socket.OPEN) return
    if (!reader!.add(subscription)) {
      throw invalidRequest(
        '',
        `There are ${streamSubscriptions} subscriptions already. Unsubscribe from some first`,
      )
    }
    // Nothing is told before this turn of the event loop is over.
    say({
      type: 'subscribed',
      inbox_ids: [...meant.ids],
      ...(meant.isCut && { truncated: true }),
      event_types: [...(subscription.types ?? [])],
    })
  }

  async function unsubscribe(inbox_ids: readonly string[]): Promise<void> {
    const { inboxIds } = await readInboxIds(app, caller, inbox_ids)
    // Also by an id that nobody has any more: the inbox may be deleted.
    const ids = new Set([...inboxIds, ...inbox_ids.map(id => id.toLowerCase())])
    if (!reader!.remove(ids.size === 0 ? null : ids)) {
      throw invalidRequest(
        '',
        'A subscription of yours names no inboxes and so takes all of them: unsubscribe without inbox_ids',
      )
    }
    say({ type: 'unsubscribed', inbox_ids: [...inbox_ids] })
  }
}

/** @throws Problem `invalid_request` for what is no message of ours */
function readMessage(data: RawData, isBinary: boolean): WsClientMessage {
  if (isBinary) throw invalidRequest('', 'Send JSON in text frames, not in binary ones')
  let value: unknown
  try {
    value = JSON.parse(data.toString())
  } catch (error) {
    throw invalidRequest('', `This is not JSON: ${(error as Error).message}`)
  }
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined
  if (type !== 'subscribe' && type !== 'unsubscribe' && type !== 'ping') {
    throw invalidRequest('message/type', `must be ${choiceInWords(Object.keys(validators), type)}`)
  }
  return validators[type](value) as WsClientMessage
}
