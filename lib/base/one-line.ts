import { commandingOrSpace } from './control-characters.ts'

/** What a stranger said, fit for a log line and a header field: no characters that command a terminal, one line, bounded. */
export function oneLine(text: string): string {
  return text
    .slice(0, 4 * textLength)
    .replace(commandingOrSpace, ' ')
    .trim()
    .slice(0, textLength)
    .toWellFormed()
}

const textLength = 1000
