import { countForwardingToMember } from '../../core/account/members.ts'
import type { Rows } from '../../core/app/app.ts'
import { operator } from '../../core/app/caller.ts'
import { getInboxRow, getPodRow } from '../../core/app/reach.ts'
import { getPolicy } from '../../core/policy/rules.ts'

/** What is given to an operation, by its names in the API. */
type Given = Readonly<Record<string, unknown>>

const counting = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

/** How much the harm is about, as it is now: what is asked before it is done begins with it. */
const counted: Readonly<Record<string, (rows: Rows, given: Given) => Promise<string>>> = {
  async deletePod({ store }, { id }) {
    const { inboxCount } = await getPodRow(store.read, operator, String(id))
    return `It has ${inboxCount} inboxes.`
  },
  async deleteInbox({ store }, { id }) {
    const row = await getInboxRow(store.read, operator, String(id))
    return `${row.address} has ${counting(row.inboundCount + row.outboundCount, 'message')} in ${counting(row.threadCount, 'thread')}.`
  },
  async deleteMember(rows, { address }) {
    return `${await countForwardingToMember(rows, String(address))} inboxes forward to it.`
  },
  async replacePolicy(rows, { podId, inboxId, ...given }) {
    const named = { pod: podId as string | undefined, inbox: inboxId as string | undefined }
    const policy = await getPolicy(rows, operator, named)
    const told = (['inbound', 'outbound'] as const)
      .filter(direction => given[direction] !== undefined)
      .map(direction => {
        const { rules = [] } = given[direction] as { rules?: readonly unknown[] }
        return `${direction}: ${policy[direction].rules.length} rules here, ${rules.length} given`
      })
    return `${told.join('; ')}.`
  },
}

/** What is asked before an operation does harm. @throws Problem `not_found` where there is nothing to be harmed */
export async function harmOf(rows: Rows, id: string, harm: string, given: Given): Promise<string> {
  const count = await counted[id]?.(rows, given)
  return count === undefined ? harm : `${count} ${harm}`
}
