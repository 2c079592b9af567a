import type { QuoteWords } from './words.ts'
import { asianWords } from './words-asia.ts'
import { easternWords } from './words-east.ts'
import { westernWords } from './words-west.ts'

const languages: readonly QuoteWords[] = [
  ...Object.values(westernWords),
  ...Object.values(easternWords),
  ...Object.values(asianWords),
]

/** What stands, between rules, below a message that was forwarded. */
export const forwardEnds: readonly string[] = [
  'end forwarded message',
  'end of forwarded message',
  'ende der weitergeleiteten nachricht',
  'fin du message transféré',
  'fin del mensaje reenviado',
  'конец пересылаемого сообщения',
]

/** All forms of one column, of all languages. */
export function formsOf(column: keyof QuoteWords): string[] {
  return languages.flatMap(words => words[column].split('|'))
}
