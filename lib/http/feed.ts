import type { Context } from 'koa'
import { limits } from '../base/limits.ts'
import type { EventSink } from '../core/app/stream.ts'
import type { EventFeed } from '../core/events/subscription.ts'
import type { StreamConnection } from './memory.ts'

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
    isFull: () => res.writableLength >= limits.streamBufferBytes,
    drained: () => new Promise(resolve => void res.once('drain', () => resolve())),
    tick(nowMs) {
      saidAt ??= nowMs
      if (nowMs - saidAt < limits.streamHeartbeatMs || res.writableLength > 0) return
      res.write(':\n\n')
      saidAt = nowMs
    },
    end(why) {
      if (why === 'slow') res.destroy()
      else res.end()
      const timer = setTimeout(() => res.destroy(), limits.streamCloseMs)
      res.once('close', () => clearTimeout(timer))
    },
  }
  const close = feed(sink)
  begin()
  res.write(`retry: ${limits.streamRetryMs}\n\n`)
  await closed
  close()
}
