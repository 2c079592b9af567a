const message = 'Which message, by its id, as lists, events and the answer to a send give it.'

/** The meaning of each parameter of a path, by the segment before it. */
const descriptions: Readonly<Record<string, string>> = {
  'pods/{id}': 'Which pod, by its id or its clientId.',
  'inboxes/{id}': 'Which inbox, by its id or its address.',
  'api-keys/{keyId}': 'Which key, by its id and not its token.',
  'messages/{id}': message,
  'threads/{id}': 'Which thread, by its id, as each of its messages has it.',
  'drafts/{id}': 'Which draft, by its id, as the list of the inbox gives it.',
  'domains/{id}': 'Which domain, by its id and not its name (GET /v1/domains?domain= finds it).',
  'queue/{id}': 'Which delivery, by its id, or all those of a message, by the id of that.',
  'rules/{id}': 'Which rule, by its id, as GET /v1/policy lists it.',
  'members/{address}': 'Which member, by the address as it is listed.',
  'events/{id}': 'Which event, by its `event_id`.',
  'attachments/{messageId}': message,
  '{messageId}/{index}': 'Which attachment of the message; the first is 0.',
  '{messageId}/{filename}': 'What the attachment is called, as the message lists it.',
  '{index}/{filename}': 'What the file is called; any name gives the same bytes.',
}

export interface PathParameter {
  readonly name: string
  /** Undefined is a gap in the table (a test says so). */
  readonly description: string | undefined
}

/** The parameters of a path such as `/v1/inboxes/{id}`, in their order. */
export function pathParameters(path: string): PathParameter[] {
  const segments = path.split('/')
  return segments.flatMap((segment, at) => {
    const name = /^\{(\w+)\}$/.exec(segment)?.[1]
    return name === undefined ? [] : [{ name, description: descriptions[`${segments[at - 1]}/${segment}`] }]
  })
}
