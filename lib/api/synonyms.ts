/** What other services and libraries call a field of ours, where no spelling leads from one to the other. */
const others: Readonly<Record<string, readonly string[]>> = {
  text: ['body'],
  textbody: ['body'],
  bodytext: ['body'],
  plain: ['body'],
  message: ['body'],
  content: ['body', 'content'],
  html: ['bodyHtml'],
  htmlbody: ['bodyHtml'],
  recipients: ['to'],
  recipient: ['to'],
  title: ['subject'],
  inreplyto: ['threadId'],
  conversationid: ['threadId'],
  files: ['attachments'],
  name: ['filename', 'displayName', 'mailboxName'],
  username: ['mailboxName'],
  localpart: ['mailboxName'],
  mimetype: ['contentType'],
  type: ['contentType'],
  webhook: ['webhookUrl'],
  callbackurl: ['webhookUrl'],
  scheduledat: ['sendAt'],
  sendlater: ['sendAt'],
  read: ['is_read'],
  address: ['recipient', 'mailboxName'],
  email: ['address', 'recipient'],
  query: ['q'],
  search: ['q'],
  since: ['after'],
  until: ['before'],
  pagesize: ['limit'],
  count: ['limit'],
  skip: ['offset'],
  unread: ['is_read'],
}

/** The one of `known` that somebody who wrote `name` is likely to mean, though it is written otherwise. */
export function synonymOf(name: string, known: readonly string[]): string | undefined {
  if (name.length > 40) return undefined
  const simple = name.toLowerCase().replaceAll(/[_-]/g, '')
  const meant = Object.hasOwn(others, simple) ? others[simple] : undefined
  return meant?.find(one => known.includes(one))
}
