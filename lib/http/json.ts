import type { Context } from 'koa'
import { answerKept, type KeptBody, keepBody } from './kept-body.ts'

const jsonType = 'application/json; charset=utf-8'

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

/** What was made of answers that stay the same. */
const kept = new WeakMap<object, Promise<KeptBody>>()

/** The text of a value that stays the same, made once. */
export function keptJson(value: object): Promise<KeptBody> {
  let body = kept.get(value)
  if (!body) {
    body = keepBody(textOf(value))
    kept.set(value, body)
  }
  return body
}

/** Answers with a value that stays the same. */
export async function answerKeptJson(context: Context, value: object): Promise<void> {
  context.set('Content-Type', jsonType)
  answerKept(context, await keptJson(value))
}

function textOf(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}

function answerText(context: Context, body: string | Buffer): void {
  // Not by `type`, which would look up what we know.
  context.set('Content-Type', jsonType)
  context.body = body
}
