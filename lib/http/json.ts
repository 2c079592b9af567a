import type { Context } from 'koa'
import { createPace, unpacedBytes } from '../base/concurrency.ts'
import { jsonBytes, jsonLength } from './json-text.ts'
import { answerKept, type KeptBody, keepBody } from './kept-body.ts'

const jsonType = 'application/json; charset=utf-8'

/** JSON of a small value, at once; its line ends, so that a terminal shows the prompt below it. */
export function answerJson(context: Context, value: unknown): void {
  answerText(context, textOf(value))
}

/** The same with a value that may be large: its bytes, made at the pace of all long computations. */
export async function answerLargeJson(context: Context, value: unknown): Promise<number> {
  const body = await bodyOf(value)
  answerText(context, body)
  return body.length
}

/** What was made of answers that several callers get. */
const shared = new WeakMap<object, Promise<Buffer | string>>()

/** The same with a value that others are answered with, too: its bytes are made once and held once. */
export async function answerSharedJson(context: Context, value: object): Promise<number> {
  const known = shared.get(value)
  const body = known ?? bodyOf(value)
  if (!known) shared.set(value, body)
  answerText(context, await body)
  return known ? 0 : (await body).length
}

/** Text that is sent as bytes, which Node would join with the header and look through twice. */
const longText = 16 * 1024

async function bodyOf(value: unknown): Promise<Buffer | string> {
  const isSmall = jsonLength(value, unpacedBytes) <= unpacedBytes
  if (!isSmall) return jsonBytes(value, createPace())
  const text = textOf(value)
  return text.length > longText ? Buffer.from(text) : text
}

/** What was made of answers that stay the same. */
const kept = new WeakMap<object, Promise<KeptBody>>()

/** The text of a value that stays the same, made once. */
export function keptJson(value: object): Promise<KeptBody> {
  const body = kept.get(value) ?? keepBody(textOf(value))
  kept.set(value, body)
  return body
}

/** Answers with a value that stays the same. */
export async function answerKeptJson(context: Context, value: object): Promise<void> {
  context.set('Content-Type', jsonType)
  await answerKept(context, await keptJson(value))
}

function textOf(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}

function answerText(context: Context, body: string | Buffer): void {
  // Not by `type`, which would look up what we know.
  context.set('Content-Type', jsonType)
  context.body = body
}
