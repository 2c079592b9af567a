import Type from 'typebox'
import { type Listed, type Page, pageSize, pageSizeMax } from '../model/page.ts'

/** The query parameters of every list. */
export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 0,
      default: pageSize,
      description: `How many entries a page has; more than ${pageSizeMax} is taken as ${pageSizeMax}.`,
    }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      default: 0,
      description: 'How many entries to skip: those of the pages that you have already.',
    }),
  ),
}

export function pageOfQuery(query: { limit?: number; offset?: number }): Page {
  return { limit: Math.min(query.limit ?? pageSize, pageSizeMax), offset: query.offset ?? 0 }
}

/** A list as it is answered. */
export function listAnswer<Item>({ rows, total }: Listed<Item>): { data: Item[]; total: number } {
  return { data: rows, total }
}
