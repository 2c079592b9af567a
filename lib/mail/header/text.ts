/**
 * Text of a stranger as it may stand in one header field or on one line: control characters, line and paragraph
 * separators become a space each, half surrogates U+FFFD; trimmed, with single spaces.
 */
export function singleLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029 ]+/gu, ' ')
    .replace(/^ | $/g, '')
}

/**
 * An address as it may stand in a header: nothing that could end or fold it where it must not. A space in a quoted
 * local part stays.
 */
export function headerAddress(address: string): string {
  return address.toWellFormed().replace(/\p{Cc}|[^\S ]/gu, '')
}

/**
 * Those of the Message-IDs that can stand in a header field, each once, in `<…>`: printable ASCII without spaces, short
 * enough for a line (RFC 5322 §3.6.4, §2.1.1). Others are left out: a wrong one names another message.
 */
export function messageIds(ids: readonly string[]): string[] {
  const inner = ids.map(id => id.trim().replace(/^<|>$/g, ''))
  const valid = inner.filter(id => id.length <= 900 && /^[!-;=?-~]+$/.test(id))
  return [...new Set(valid)].map(id => `<${id}>`)
}
