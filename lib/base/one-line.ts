/** What a stranger said, fit for a log line and a header field: no control characters, one line, bounded. */
export function oneLine(text: string): string {
  return text
    .slice(0, 4 * textLength)
    .replace(/[\x00-\x20\x7f-\x9f\u2028\u2029]+/g, ' ')
    .trim()
    .slice(0, textLength)
}

const textLength = 1000
