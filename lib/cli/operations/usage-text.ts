import type { Usage } from '../../model/usage.ts'
import { tableOf } from '../output.ts'

const counts = ['inbound', 'outbound', 'delivered', 'bounced', 'attachmentBytes', 'storedBytes']

/** What is shown of each row; the id of a pod leaves no room for all of it. `--json` has all. */
const columnsOf: Readonly<Record<Usage['groupBy'], readonly string[]>> = {
  day: ['day', ...counts],
  inbox: ['address', ...counts],
  pod: ['podId', ...counts.filter(name => name !== 'attachmentBytes')],
  account: counts,
}

/**
 * What was sent and received, and what counts against which limit, for people.
 * @param room as of `tableOf`
 */
export function textOfUsage(
  { from, to, groupBy, rows, inboxes, totals, limits }: Usage,
  room?: number,
): string {
  const columns = columnsOf[groupBy]
  const inAll = groupBy === 'account' ? [] : [{ [columns[0]!]: 'in all', ...totals }]
  const { plan, ...each } = limits
  const limited = Object.entries(each)
    .filter(([, one]) => one !== null)
    .map(([name, one]) => ({ ...one, of: name, limit: one!.limit ?? 'none' }))
  return [
    `${from} to ${to}, by ${groupBy}\n${tableOf([...rows, ...inAll], columns, room)}`,
    // By inbox they are the rows.
    ...(inboxes.length > 0 && groupBy !== 'inbox' ? [tableOf(inboxes, columnsOf.inbox, room)] : []),
    `plan ${plan}\n${tableOf(limited, ['of', 'used', 'limit', 'resetsAt'], room)}`,
  ].join('\n\n')
}
