const message = "The message's id."

/** The meaning of each parameter of a path, by the segment before it. */
const descriptions: Readonly<Record<string, string>> = {
  'pods/{id}': "The pod's id or its clientId.",
  'inboxes/{id}': "The inbox's id or its address.",
  'api-keys/{keyId}': "The key's id; not its token.",
  'messages/{id}': message,
  'threads/{id}': "The thread's id.",
  'drafts/{id}': "The draft's id.",
  'domains/{id}': "The domain's id; not its name.",
  'rules/{id}': "The rule's id.",
  'members/{address}': "The member's address.",
  'events/{id}': "The event's id.",
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
