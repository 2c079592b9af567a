import { sendRecipients } from '../../base/lengths.ts'
import {
  type Fault,
  type FoundFault,
  faultsOf,
  faultsOfText,
  type Given,
  invalidRequest,
} from '../../base/problem.ts'

import { attachmentsCount } from '../../model/send.ts'
import { readPeople, requireAddress } from './addressees.ts'
import { readContent } from './request.ts'

/** What must stand in a message that begins a thread, and what may not. */
interface Parts {
  readonly to?: unknown
  readonly subject?: unknown
  readonly threadId?: unknown
  readonly replyAll?: unknown
}

const isMissing = (value: unknown) => value === undefined || value === null

/** What is wrong with a message as a whole, whose parts are right. */
function* wholeFaults({ to, subject, threadId, replyAll }: Parts): Generator<Fault> {
  if (!isMissing(threadId)) return
  const hasNobody = isMissing(to) || (Array.isArray(to) && to.length === 0)
  if (hasNobody) yield { path: '/to', message: 'is required unless threadId makes this a reply' }
  if (isMissing(subject))
    yield { path: '/subject', message: 'is required unless threadId makes this a reply' }
  if (replyAll === true) yield { path: '/replyAll', message: 'is for replies: it needs a threadId' }
}

/** What no schema says of a send: addresses, base64, and what belongs together. */
export function* sendFaults(given: Given): Generator<FoundFault> {
  yield* partFaults(given)
  yield* wholeFaults(given)
}

/** The same of a message that is made in parts, or whose parts the message before it gives. */
export function* partFaults(given: Given): Generator<FoundFault> {
  for (const name of ['to', 'cc', 'bcc'] as const) yield* peopleFaults(given[name], `/${name}`)
  yield* faultsOfText(given, 'replyTo', text => requireAddress(text, '/replyTo'))
  const { attachments } = given
  if (Array.isArray(attachments)) yield* attachmentFaults(attachments.slice(0, attachmentsCount))
}

function* peopleFaults(value: unknown, path: string): Generator<FoundFault> {
  if (typeof value === 'string') yield* faultsOf(path, () => readPeople(value, path))
  if (!Array.isArray(value)) return
  for (const [index, one] of value.slice(0, sendRecipients).entries()) {
    const at = `${path}/${index}`
    if (typeof one === 'string') yield* faultsOf(at, () => readPeople(one, at))
  }
}

function* attachmentFaults(attachments: readonly unknown[]): Generator<FoundFault> {
  for (const [index, attachment] of attachments.entries()) {
    if (typeof attachment !== 'object' || attachment === null) continue
    const { content, data } = attachment as { content?: unknown; data?: unknown }
    const path = `/attachments/${index}`
    if (isMissing(content) && isMissing(data)) yield { path: `${path}/content`, message: 'is required' }
    if (!isMissing(content) && !isMissing(data))
      yield { path: `${path}/data`, message: 'must not stand beside content, which it is another name for' }
    if (typeof content === 'string')
      yield* faultsOf(`${path}/content`, () => readContent(content, `body${path}/content`))
  }
}

/** @throws Problem `invalid_request` that names all that a draft lacks */
export function requireWhole(draft: Parts & { readonly body?: unknown }): void {
  const lacking: Fault[] = isMissing(draft.body) ? [{ path: '/body', message: 'is required' }] : []
  lacking.push(...wholeFaults(draft))
  const [first, ...others] = lacking
  if (first) throw invalidRequest(`body${first.path}`, first.message, others)
}
