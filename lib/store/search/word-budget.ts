import { limits } from '../../base/limits.ts'
import type { SearchWords } from './words.ts'

/** How many words one write puts into the index: all of its messages share it. */
export interface WordBudget {
  /**
   * Those of a message's words for which there is room. `isWhole` false: only the first of its sender, recipients and subject;
   * all come after the write (lib/core/mailbox/indexing.ts).
   */
  take(words: SearchWords): { readonly words: SearchWords; readonly isWhole: boolean }
}

/** The budget of one write, of `limits.indexedWords`. */
export function createWordBudget(): WordBudget {
  let left: number = limits.indexedWords
  return {
    take(words) {
      const { from, to, subject, body } = words
      const count = [from, to, subject, body].reduce((sum, text) => sum + countWords(text), 0)
      if (count <= left) {
        left -= count
        return { words, isWhole: true }
      }
      const few = { from: firstWords(from), to: firstWords(to), subject: firstWords(subject), body: '' }
      return { words: few, isWhole: false }
    },
  }
}

/** How many words stand in what the index gets. */
function countWords(text: string): number {
  if (text === '') return 0
  let count = 1
  for (let at = text.indexOf(' '); at !== -1; at = text.indexOf(' ', at + 1)) count++
  return count
}

function firstWords(text: string): string {
  let end = -1
  for (let count = 0; count < limits.indexedWordsOfHeader; count++) {
    end = text.indexOf(' ', end + 1)
    if (end === -1) return text
  }
  return text.slice(0, end)
}
