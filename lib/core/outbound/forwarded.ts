import { subjectLength } from '../../base/lengths.ts'
import { attachmentsBytes, Problem } from '../../base/problem.ts'
import { readContent } from '../../blob/content.ts'
import type { OutgoingAttachment } from '../../mail/compose/attachment.ts'
import { type ForwardedMessage, forwardSubject } from '../../mail/compose/forward.ts'
import { listedAddresses, type Mailbox } from '../../mail/header/mailbox.ts'
import { singleLine } from '../../mail/header/text.ts'
import type { WholeMessage } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { getWholeMessage } from '../app/reach.ts'
import { readList, type StoredAttachment } from '../mailbox/attachments.ts'
import { rawOf } from '../mailbox/raws.ts'

/** Which message is passed on, and how. */
export interface Forwarding {
  readonly messageId: string
  /** Whether as the message that it is (message/rfc822), and not as text with its attachments. */
  readonly asAttachment: boolean
  /** Whether it may be one that a scanner found a virus in. */
  readonly includeMalicious?: boolean
}

/** What is passed on, ready to be composed. */
export interface Forwarded {
  readonly subject: string
  readonly attachments: readonly OutgoingAttachment[]
  /** What stands below what is said about it; null where it is attached. */
  readonly below: ForwardedMessage | null
}

/** @throws Problem `not_found` for a message that is not there, or its bytes; `malicious_message`; `attachments_too_large` */
export async function openForwarded(app: App, caller: Caller, forwarding: Forwarding): Promise<Forwarded> {
  const message = await getWholeMessage(app.store.read, caller, forwarding.messageId)
  if (message.verdict === 'malicious' && !forwarding.includeMalicious) throw new Problem('malicious_message')
  const subject = forwardSubject(message.subject).slice(0, subjectLength)
  if (forwarding.asAttachment) {
    const content = await readContent(await rawOf(app, message))
    if (content.length > attachmentsBytes) throw new Problem('attachments_too_large')
    const filename = `${singleLine(message.subject).slice(0, 100) || 'message'}.eml`
    return {
      subject,
      attachments: [{ filename, contentType: 'message/rfc822', content }],
      below: null,
    }
  }
  return {
    subject,
    attachments: await attachmentsOf(app, message),
    below: describe(message),
  }
}

async function attachmentsOf(app: App, message: WholeMessage): Promise<OutgoingAttachment[]> {
  const stored = readList<StoredAttachment>(message.attachments)
  if (stored.length === 0) return []
  if (stored.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) > attachmentsBytes) {
    throw new Problem('attachments_too_large')
  }
  const contents = await app.renderer.openAttachments(await rawOf(app, message), message.inboxId)
  return contents.flatMap((content, index) => {
    const { filename, contentType } = stored[index] ?? {}
    return filename === undefined || contentType === undefined ? [] : [{ filename, contentType, content }]
  })
}

function describe(message: WholeMessage): ForwardedMessage {
  const names = (message.addressNames === null ? {} : JSON.parse(message.addressNames)) as Record<
    string,
    string
  >
  const person = (address: string): Mailbox => {
    const key = address.toLowerCase()
    return { address, name: (Object.hasOwn(names, key) && names[key]) || '' }
  }
  const to = message.headerTo === null ? [message.toAddr] : listedAddresses(message.headerTo)
  return {
    from: person(message.fromAddr),
    to: to.map(person),
    cc: readList<string>(message.cc).map(person),
    date: new Date(message.createdAt),
    subject: message.subject,
    text: message.bodyText,
    html: message.bodyHtml === '' ? null : message.bodyHtml,
  }
}
