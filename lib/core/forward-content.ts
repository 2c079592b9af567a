import { isAscii } from 'node:buffer'
import { Readable } from 'node:stream'
import { limits } from '../base/limits.ts'
import { type Content, openContent, readStart, sizeOf } from '../blob/content.ts'
import { domainOf, normaliseAddress } from '../mail/address.ts'
import { fieldValues, readHeader } from '../mail/header.ts'
import { findDomain } from '../store/domains.ts'
import { findInbox } from '../store/inboxes.ts'
import type { DeliveryRow, InboxRow, MessageRow } from '../store/tables.ts'
import type { App } from './app.ts'
import type { Cargo } from './cargo.ts'

/**
 * The copy that a delivery of purpose `forward` carries: the original, byte for byte, so that its signatures hold, below
 * the fields that tell its way; or why it is not to be carried.
 * @param original the raw of the message
 */
export async function forwardContent(
  app: App,
  delivery: DeliveryRow,
  message: MessageRow,
  original: Content,
): Promise<Cargo | { readonly refusal: string }> {
  const db = app.store.read
  const inbox = await findInbox(db, message.inboxId)
  if (inbox?.forwardTo !== delivery.recipient || inbox.forwardStatus !== 'active') {
    return { refusal: 'not forwarded: forwarding to this address has ended' }
  }
  // It would be taken in without a network, as if it were mail of our own.
  if (await findDomain(db, domainOf(delivery.recipient))) {
    return { refusal: 'not forwarded: the address is one of this server by now' }
  }
  if (await wasHere(inbox, original)) {
    return { refusal: 'not forwarded: it came through this inbox before' }
  }
  const trace = Buffer.from(traceOf(inbox, delivery, message))
  return {
    sizeBytes: trace.length + sizeOf(original),
    is8Bit: !isAscii(trace) || (await has8Bit(original)),
    raw: () => Readable.from(joined(trace, original)),
  }
}

async function* joined(trace: Buffer, original: Content): AsyncGenerator<Buffer> {
  yield trace
  yield* openContent(original) as AsyncIterable<Buffer>
}

async function has8Bit(content: Content): Promise<boolean> {
  for await (const chunk of openContent(content) as AsyncIterable<Buffer>) {
    if (!isAscii(chunk)) return true
  }
  return false
}

/** As Gmail and Postfix write it. Return-Path is for the last host alone to add (RFC 5321 §4.4). */
function traceOf({ address }: InboxRow, { recipient }: DeliveryRow, { trace }: MessageRow): string {
  return (
    `X-Forwarded-To: ${recipient}\r\nX-Forwarded-For: ${address} ${recipient}\r\nDelivered-To: ${address}\r\n` +
    trace.replace(/^Return-Path:.*\r\n/, '')
  )
}

/** Whether the message says that it was delivered to this inbox, or forwarded from it, already. */
async function wasHere({ address }: InboxRow, original: Content): Promise<boolean> {
  const header = readHeader(await readStart(original, limits.headerBytes))
  return [
    ...fieldValues(header, 'delivered-to'),
    // First who forwarded it, then to whom.
    ...fieldValues(header, 'x-forwarded-for').map(value => value.split(/\s+/)[0]!),
  ].some(value => normaliseAddress(value) === address)
}
