import type { Context } from 'koa'
import type { EventSink } from '../core/app/stream.ts'
import type { EventFeed } from '../core/events/subscription.ts'
import type { StreamConnection } from './memory.ts'
import { streamBufferBytes, streamCloseMs } from './websocket-sink.ts'

/** How often Server-Sent Events say that they are alive, and what their client is told to wait before it connects again. */
export const streamHeartbeatMs = 15_000
export const streamRetryMs = 2_000

/** Answers with events as they come (Server-Sent Events, HTML Living Standard §9.2) until one side ends it. */
export async function answerFeed(
  context: Context,
  contentType: string,
  feed: EventFeed,
  roomOf: (connection: StreamConnection) => EventSink['enter'],
): Promise<void> {
  const { res } = context
  const closed = new Promise<void>(resolve => {
    if (res.closed) resolve()
    else res.once('close', resolve)
  })
  const begin = () => {
    context.respond = false
    context.set({
      'Content-Type': `${contentType}; charset=utf-8`,
      'Cache-Control': 'no-store',
      // What proxies (nginx) would keep back until there is more of it.
      'X-Accel-Buffering': 'no',
      // When it ends, something is over: the connection is not for another request.
      Connection: 'close',
    })
  }
  if (context.method === 'HEAD') {
    begin()
    res.end()
    return
  }
  let saidAt: number | undefined
  const sink: EventSink = {
    write(event, body, sent) {
      // In three pieces that leave together: the body is not copied, for others are told it, too.
      res.cork()
      res.write(`id: ${event.id}\nevent: ${event.type}\ndata: `)
      res.write(body)
      res.write('\n\n', sent)
      res.uncork()
    },
    enter: roomOf({
      get isOver() {
        return res.closed
      },
      onceOver: listener => void res.once('close', listener),
      cut: () => res.destroy(),
    }),
    isFull: () => res.writableLength >= streamBufferBytes,
    drained: () => new Promise(resolve => void res.once('drain', () => resolve())),
    tick(nowMs) {
      saidAt ??= nowMs
      if (nowMs - saidAt < streamHeartbeatMs || res.writableLength > 0) return
      res.write(':\n\n')
      saidAt = nowMs
    },
    end(why) {
      if (why === 'slow') res.destroy()
      else res.end()
      const timer = setTimeout(() => res.destroy(), streamCloseMs)
      res.once('close', () => clearTimeout(timer))
    },
  }
  const close = feed(sink)
  begin()
  res.write(`retry: ${streamRetryMs}\n\n`)
  await closed
  close()
}
