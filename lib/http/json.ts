import type { Context } from 'koa'

/** Answers with JSON; its line ends, so that a terminal shows the prompt below it. */
export function answerJson(context: Context, value: unknown): void {
  answerText(context, textOf(value))
}

/** What was made of answers that several callers get. */
const shared = new WeakMap<object, Buffer>()

/** The same with a value that others are answered with, too: its bytes are made once and held once. */
export function answerSharedJson(context: Context, value: object): void {
  let bytes = shared.get(value)
  if (!bytes) {
    bytes = Buffer.from(textOf(value))
    shared.set(value, bytes)
  }
  answerText(context, bytes)
}

function textOf(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}

function answerText(context: Context, body: string | Buffer): void {
  // Not by `type`, which would look up what we know.
  context.set('Content-Type', 'application/json; charset=utf-8')
  context.body = body
}
