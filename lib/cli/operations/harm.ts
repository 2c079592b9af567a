import { countForwardingToMember } from '../../core/account/members.ts'
import type { Rows } from '../../core/app/app.ts'
import { operator } from '../../core/app/caller.ts'
import { getInboxRow, getMessageRow, getPodRow, getThreadRow } from '../../core/app/reach.ts'
import { getDraftRow } from '../../core/drafts/drafts.ts'
import { getPolicy, getRule } from '../../core/policy/rules.ts'
import { countOf } from '../counted.ts'

/** What is given to an operation, by its names in the API. */
type Given = Readonly<Record<string, unknown>>

const named = (subject: string | null) => (subject ? `"${subject}"` : 'without a subject')

/**
 * What the harm is about, as it is now: what is asked before it is done begins with it. Each operation that does harm has one, which
 * fails where there is nothing to be harmed, so that nobody is asked about that.
 */
const looked: Readonly<Record<string, (rows: Rows, given: Given) => Promise<string>>> = {
  async deletePod({ store }, { id }) {
    const { inboxCount } = await getPodRow(store.read, operator, String(id))
    return `It has ${countOf(inboxCount, 'inbox', 'inboxes')}.`
  },
  async deleteInbox({ store }, { id }) {
    const row = await getInboxRow(store.read, operator, String(id))
    return `${row.address} has ${countOf(row.inboundCount + row.outboundCount, 'message')} in ${countOf(row.threadCount, 'thread')}.`
  },
  async deleteMessage({ store }, { id }) {
    const { subject, fromAddr, createdAt } = await getMessageRow(store.read, operator, String(id))
    return `It is ${named(subject)}, from ${fromAddr}, of ${createdAt}.`
  },
  async deleteThread({ store }, { id }) {
    const { subject, messageCount, lastMessageAt } = await getThreadRow(store.read, operator, String(id))
    return `It is ${named(subject)}, ${countOf(messageCount, 'message')}, the last one of ${lastMessageAt}.`
  },
  async deleteDraft({ store }, { id }) {
    const { subject, status, updatedAt } = await getDraftRow(store.read, operator, String(id))
    return `It is ${named(subject)}, ${status}, changed last at ${updatedAt}.`
  },
  async deletePolicyRule(rows, { id }) {
    const { type, value, direction } = await getRule(rows, String(id))
    return `It is ${type} ${value}, ${direction}.`
  },
  async deleteMember(rows, { address }) {
    return `${countOf(await countForwardingToMember(rows, String(address)), 'inbox forwards', 'inboxes forward')} to it.`
  },
  async replacePolicy(rows, { podId, inboxId, ...given }) {
    const scope = { pod: podId as string | undefined, inbox: inboxId as string | undefined }
    const policy = await getPolicy(rows, operator, scope)
    const told = (['inbound', 'outbound'] as const)
      .filter(direction => given[direction] !== undefined)
      .map(direction => {
        const { rules = [] } = given[direction] as { rules?: readonly unknown[] }
        return `${direction}: ${countOf(policy[direction].rules.length, 'rule')} here, ${rules.length} given`
      })
    return `${told.join('; ')}.`
  },
}

/** What is asked before an operation does harm. @throws Problem `not_found` where there is nothing to be harmed */
export async function harmOf(rows: Rows, id: string, harm: string, given: Given): Promise<string> {
  return `${await looked[id]!(rows, given)} ${harm}`
}
