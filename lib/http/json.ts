import type { Context } from 'koa'

/** Answers with JSON; its line ends, so that a terminal shows the prompt below it. */
export function answerJson(context: Context, value: unknown): void {
  // Not by `type`, which would look up what we know.
  context.set('Content-Type', 'application/json; charset=utf-8')
  context.body = `${JSON.stringify(value)}\n`
}
