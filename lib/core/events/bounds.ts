import type { EventBody, EventMessage } from '../../model/event-body.ts'

/** An event as it is told, and its JSON. */
export interface Described {
  readonly body: EventBody
  readonly json: string
  readonly bytes: number
}

/** What of a message is cut when its event has `excess` bytes too many; undefined when there is nothing left of it. */
type Cut = (message: EventMessage, excess: number) => Partial<EventMessage> | undefined

/**
 * In this order. Half a document of HTML is none, so it goes as a whole; of the texts the beginnings are kept. Few look at
 * the rest, but strangers can make it long.
 */
const cuts: readonly Cut[] = [
  leaveOut('body_html', ''),
  shortenTexts,
  leaveOut('links', []),
  leaveOut('attachments', []),
  leaveOut('cc', []),
  leaveOut('header_to', []),
  shorten('to'),
  shorten('reply_to'),
  shorten('subject'),
]

/** Characters of a list of addresses or a subject that stay where there is room for nothing. */
const keptLength = 1000

/**
 * The event, its message cut until its JSON has at most `room` bytes; what was cut stands in `truncated_fields`. Besides
 * the message there is nothing in it that a stranger makes long.
 */
export function withinBounds(whole: EventBody, room: number): Described {
  if (!whole.message) return describe(whole)
  let message = withoutTheHopeless(whole.message, room)
  let described = describe({ ...whole, message })
  for (const cut of cuts) {
    while (described.bytes > room) {
      const changes = cut(message, described.bytes - room)
      if (!changes) break
      message = changed(message, changes)
      described = describe({ ...whole, message })
    }
  }
  return described
}

function describe(body: EventBody): Described {
  const json = JSON.stringify(body)
  return { body, json, bytes: Buffer.byteLength(json) }
}

function changed(message: EventMessage, changes: Partial<EventMessage>): EventMessage {
  const before = message.truncated_fields ?? []
  const also = Object.keys(changes).filter(name => !before.some(known => known === name))
  const truncated_fields = [...before, ...also] as typeof before
  return { ...message, ...changes, truncated: true, truncated_fields }
}

/** What has more characters than the event may have bytes is cut before JSON of many megabytes is made of it. */
function withoutTheHopeless(message: EventMessage, room: number): EventMessage {
  let left = message
  if (left.body_html.length > room) left = changed(left, { body_html: '' })
  const texts = cutTo(left, room)
  return texts ? changed(left, texts) : left
}

function leaveOut(name: 'body_html' | 'links' | 'attachments' | 'cc' | 'header_to', empty: '' | []): Cut {
  return message => (message[name].length > 0 ? { [name]: empty } : undefined)
}

function shorten(name: 'to' | 'reply_to' | 'subject'): Cut {
  return message => {
    const text = message[name] ?? ''
    return text.length > keptLength ? { [name]: beginningOf(text, keptLength) } : undefined
  }
}

/** Both to one length, so that a short one stays whole: about what fits, and again until it does. */
function shortenTexts(message: EventMessage, excess: number): Partial<EventMessage> | undefined {
  const { body_text, reply_text } = message
  const bytes = Buffer.byteLength(JSON.stringify([body_text, reply_text]))
  const longest = Math.max(body_text.length, reply_text?.length ?? 0)
  return cutTo(message, Math.floor(longest * Math.min(0.99, Math.max(0, 1 - excess / bytes))))
}

function cutTo({ body_text, reply_text }: EventMessage, length: number): Partial<EventMessage> | undefined {
  const isTextLong = body_text.length > length
  const isReplyLong = reply_text !== null && reply_text.length > length
  if (!isTextLong && !isReplyLong) return undefined
  return {
    ...(isTextLong && { body_text: beginningOf(body_text, length) }),
    ...(isReplyLong && { reply_text: beginningOf(reply_text, length) }),
  }
}

/** At most so many UTF-16 units of a text, and never half a character. */
function beginningOf(text: string, length: number): string {
  const isHalf = /[\uD800-\uDBFF]/.test(text.charAt(length - 1))
  return text.slice(0, isHalf ? length - 1 : length)
}
