import type { Context } from 'koa'

/** Answers with JSON; its line ends, so that a terminal shows the prompt below it. */
export function answerJson(context: Context, value: unknown): void {
  context.type = 'application/json'
  context.body = `${JSON.stringify(value)}\n`
}
