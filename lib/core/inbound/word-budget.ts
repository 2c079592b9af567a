import { limits } from '../../base/limits.ts'
import { indexTokens, type SearchWords } from '../../store/search/words.ts'
import type { MessageRow } from '../../store/tables.ts'

/** The search words of one message for each of its inboxes, as many as one write may put into the index. */
export interface WordBudget {
  /** Those of the next inbox; `isWhole` false: without the body's, which come later (lib/core/mailbox/indexing.ts). */
  next(row: Pick<MessageRow, 'headerTo' | 'toAddr'>): { words: SearchWords; isWhole: boolean }
}

/** @param read what the message was read to; the first inbox gets all of it */
export function createWordBudget(read: SearchWords): WordBudget {
  let left: number = limits.indexedLength
  return {
    next({ headerTo, toAddr }) {
      // Who is named nowhere in the header was written to all the same.
      const own = headerTo === null ? indexTokens(toAddr).join(' ') : ''
      const words = own === '' ? read : { ...read, to: `${own} ${read.to}`.trimEnd() }
      const isWhole = left === limits.indexedLength || read.body.length <= left
      left -= read.body.length
      return { words: isWhole ? words : { ...words, body: '' }, isWhole }
    },
  }
}
