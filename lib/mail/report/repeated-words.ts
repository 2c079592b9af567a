/** Whom a transaction names, as it stood on the wire. */
export interface Named {
  /** Empty for the null reverse-path. */
  readonly mailFrom: string
  readonly rcptTo: string
}

/**
 * A reply without the words of the addresses that it repeats, for who chose the names of a domain or a mailbox did not mean the
 * recipient; in lower case, which rules do not tell from upper. In place of our own reverse-path stands one that
 * config/replies.txt knows, so the reply is read as one about it.
 */
export function withoutAddresses(text: string, { mailFrom, rcptTo }: Named): string {
  // RFC 3461 §4.2, §4.4: what who sends asks to be told is theirs, too.
  let words = text.toLowerCase().replace(/\b(?:orcpt|envid)=\S*/g, ' ')
  words = replaceAll(words, rcptTo.toLowerCase(), 'a@there.example')
  if (mailFrom === '') return words
  const own = mailFrom.toLowerCase()
  words = replaceAll(words, own, `b-${'0'.repeat(24)}@bounce.ours.example`)
  const labels = own.slice(own.lastIndexOf('@') + 1).split('.')
  // The domain, and those above it as far as somebody may have them.
  for (; labels.length >= 2; labels.shift()) words = replaceAll(words, labels.join('.'), 'ours.example')
  return words
}

/**
 * What a reply to a message says without what it may have taken from it: text in quotes, names of files and links. Nobody can
 * tell all of it, so what is left is no proof.
 */
export function withoutMessageWords(text: string): string {
  return withoutQuotes(text)
    .replace(/\bhttps?:\/\/\S*/gi, 'x')
    .replace(/(?<![^\s:;,([])[^\s@:;,([]{1,255}\.[a-z]\w{1,4}(?![\w@-]|\.\w)/gi, 'x')
}

const quotes: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['“', '”'],
  ['«', '»'],
  ["'", "'"],
])

/** An apostrophe within a word is no quote. */
function isQuote(text: string, at: number): boolean {
  return text[at] !== "'" || !/\w/.test(text[at - 1] ?? ' ') || !/\w/.test(text[at + 1] ?? ' ')
}

/** With `x` in the place of each text in quotes. In one pass: of a kind that is not closed none is looked for again. */
function withoutQuotes(text: string): string {
  const unclosed = new Set<string>()
  let words = ''
  let from = 0
  for (let at = 0; at < text.length; at++) {
    const closing = quotes.get(text[at]!)
    if (closing === undefined || unclosed.has(closing) || !isQuote(text, at)) continue
    let end = text.indexOf(closing, at + 1)
    while (end >= 0 && !isQuote(text, end)) end = text.indexOf(closing, end + 1)
    if (end < 0) {
      unclosed.add(closing)
      continue
    }
    words += `${text.slice(from, at)} x `
    from = end + 1
    at = end
  }
  return words + text.slice(from)
}

/** Where it stands alone. Both in lower case. */
function replaceAll(text: string, name: string, by: string): string {
  const pieces = text.split(name)
  return pieces.reduce((before, after) => {
    const isAlone = !/[\w.-]$/.test(before.slice(-1)) && !/^(?:[\w-]|\.\w)/.test(after.slice(0, 2))
    return before + (isAlone ? by : name) + after
  })
}
