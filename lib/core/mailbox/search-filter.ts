import { invalidRequest } from '../../base/problem.ts'
import { readInstant } from '../../base/time.ts'
import type { SearchFilter } from '../../store/search/filter.ts'

/** Whether something is asked for that the counters of the inboxes do not answer. */
export function isSearch(filter: SearchFilter): boolean {
  const { direction: _direction, ...rest } = filter
  return Object.values(rest).some(value => value !== undefined && value !== '')
}

/** The filter with its instants in the form of rows. @throws Problem `invalid_request` for what is no instant */
export function readFilter(filter: SearchFilter): SearchFilter {
  return { ...filter, after: instantOf('after', filter.after), before: instantOf('before', filter.before) }
}

function instantOf(name: string, text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined
  // A plus that was not encoded comes as a space.
  const instant = readInstant(text.replace(' ', '+'))
  if (instant !== undefined) return instant
  throw invalidRequest(`query/${name}`, 'must be an instant, such as 2026-01-31T08:00:00Z, or a date')
}
