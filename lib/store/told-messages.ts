import { sql } from 'kysely'
import type { Pace } from '../base/concurrency.ts'
import type { Db } from './dialect/dialect.ts'
import { prepared } from './dialect/prepared.ts'
import { takeTurnWithLarge } from './listed-messages.ts'

/** What an event tells of a message, as far as it was read. */
export interface ToldMessage {
  readonly row: ToldRow
  /** Columns of which the beginning was read, or nothing. */
  readonly cut: ReadonlySet<SizedColumn>
  /** How many bytes of text were read for it. */
  readonly bytes: number
}

export type ToldRow = NonNullable<Awaited<ReturnType<typeof toldById>>>
export type SizedColumn = keyof Sizes

type Sizes = NonNullable<Awaited<ReturnType<typeof sizesById>>>

/** What stands in `extracted` behind the replyText, in which a quote is escaped. */
export const otpName = ',"otp":'

/** More characters than any text has; an integer of both databases. */
const allOfIt = 0x7fffffff

/** Characters at the end of `extracted` that hold all that stands behind the replyText: the code and the links, unless they are many. */
const extractedTail = 16 * 1024

/**
 * The message as far as an event with `room` bytes can tell it: of its JSON the texts have at least the bytes that they have
 * here, so HTML that has no room beside the rest is not read, nor more of a text than fits, nor a list that does not. Much is
 * read at the pace of the event loop, of all callers together.
 */
export async function findToldMessage(
  db: Db,
  id: string,
  room: number,
  pace: Pace,
): Promise<ToldMessage | undefined> {
  await takeTurnWithLarge()
  const sizes = await sizesById(db, { id })
  if (!sizes) return undefined
  const all = Object.values(sizes).reduce((sum, bytes) => sum + Number(bytes), 0)
  // To sign the URL of an attachment takes longer than to read it.
  await pace(all + 8 * Number(sizes.attachments))
  const cut = new Set<SizedColumn>()
  let left = all
  for (const column of ['bodyHtml', 'bodyText', 'extracted', 'attachments', 'headerTo', 'cc'] as const) {
    // What alone has no room is left out whatever else is.
    const bytes = Number(sizes[column])
    const isTooMuch = column === 'bodyHtml' ? bytes > 0 && left > room : bytes > room
    if (!isTooMuch) continue
    cut.add(column)
    left -= bytes
  }
  const upTo = (column: SizedColumn) => (cut.has(column) ? 0 : 1)
  const row = await toldById(db, {
    id,
    html: upTo('bodyHtml'),
    text: cut.has('bodyText') ? room : allOfIt,
    extracted: upTo('extracted'),
    reply: cut.has('extracted') ? room : 0,
    tail: cut.has('extracted') ? extractedTail : 0,
    attachments: upTo('attachments'),
    headerTo: upTo('headerTo'),
    cc: upTo('cc'),
  })
  if (row?.extractedEnd && cut.has('extracted') && !row.extractedEnd.includes(otpName)) {
    row.extractedEnd = (await extractedById(db, { id }))?.extracted ?? null
  }
  const { bodyText, bodyHtml, attachments, extracted, extractedBegin, extractedEnd } = row ?? {}
  const read = [bodyText, bodyHtml, attachments, extracted, extractedBegin, extractedEnd]
  const bytes = read.reduce((sum, text) => sum + (text?.length ?? 0), 0)
  return row && { row, cut, bytes }
}

const sizesById = prepared((db, given: { id: string }) =>
  db
    .selectFrom('message')
    .innerJoin('reading', 'reading.id', 'message.readingId')
    .select([
      sql<number>`octet_length("reading"."bodyText")`.as('bodyText'),
      sql<number>`octet_length("reading"."bodyHtml")`.as('bodyHtml'),
      sql<number>`coalesce(octet_length("reading"."extracted"), 0)`.as('extracted'),
      sql<number>`octet_length("reading"."attachments")`.as('attachments'),
      sql<number>`coalesce(octet_length("message"."headerTo"), 0)`.as('headerTo'),
      sql<number>`octet_length("message"."cc")`.as('cc'),
    ])
    .where('message.id', '=', given.id),
).row

const extractedById = prepared((db, given: { id: string }) =>
  db
    .selectFrom('message')
    .innerJoin('reading', 'reading.id', 'message.readingId')
    .select('extracted')
    .where('message.id', '=', given.id),
).row

type Asked = {
  id: string
  html: number
  text: number
  extracted: number
  reply: number
  tail: number
  attachments: number
  headerTo: number
  cc: number
}

const toldById = prepared((db, given: Asked) =>
  db
    .selectFrom('message')
    .innerJoin('reading', 'reading.id', 'message.readingId')
    .select([
      'message.id',
      'rfcMessageId',
      'direction',
      'fromAddr',
      'toAddr',
      'deliveryRole',
      'subject',
      'category',
      'autoReplyable',
      'verdict',
      'createdAt',
      'replyTo',
      'authentication',
      'fromProven',
      'isNewInThread',
      'autoReplyReason',
      sql<string>`substr("bodyText", 1, cast(${given.text} as integer))`.as('bodyText'),
      sql<string>`case when ${given.html} = 1 then "bodyHtml" else '' end`.as('bodyHtml'),
      sql<string>`case when ${given.attachments} = 1 then "attachments" else '[]' end`.as('attachments'),
      sql<string | null>`case when ${given.headerTo} = 1 then "headerTo" end`.as('headerTo'),
      sql<string>`case when ${given.cc} = 1 then "cc" else '[]' end`.as('cc'),
      sql<string | null>`case when ${given.extracted} = 1 then "extracted" end`.as('extracted'),
      sql<string | null>`substr("extracted", 1, cast(${given.reply} as integer))`.as('extractedBegin'),
      sql<string | null>`case when length("extracted") > ${given.tail}
        then substr("extracted", length("extracted") - cast(${given.tail} as integer) + 1) else "extracted" end`.as(
        'extractedEnd',
      ),
    ])
    .where('message.id', '=', given.id),
).row
