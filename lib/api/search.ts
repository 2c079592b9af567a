import Type from 'typebox'
import { Category } from '../model/message.ts'

/** Characters of each filter of a search. */
export const searchLength = 500

const words = (description: string) => Type.Optional(Type.String({ maxLength: searchLength, description }))
const instant = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))

/** The query parameters of a search in messages. All that are given must hold. */
export const searchQuery = {
  q: words(
    'Words, all of which are in the sender, the recipients, the subject, the text or the names of the attachments; "a phrase"; -without. Case and accents do not count; languages without spaces are searched by any part of a word. A message is found by its words within about a second of its coming, later when many came, by its first 20,000 words and 4,000 different ones; lists without words have it at once.',
  ),
  from: words('In the address or the name of the sender, in this order.'),
  to: words('In the address or the name of a recipient (to, cc, bcc), in this order.'),
  subject: words('Words, all of which are in the subject; written as in `q`.'),
  after: instant('Messages after this instant, or after the beginning of this day (UTC).'),
  before: instant('Messages before this instant or day.'),
  hasAttachment: Type.Optional(
    Type.Boolean({ description: 'Only messages with a file, or only those without one.' }),
  ),
  category: Type.Optional(Category),
}

type Searched = { readonly [Name in keyof typeof searchQuery]?: Type.Static<(typeof searchQuery)[Name]> }

/** What of a list's query is its search. */
export function filterOfQuery({ q, from, to, subject, after, before, hasAttachment, category }: Searched) {
  return { q, from, to, subject, after, before, hasAttachment, category }
}
