/** Message-IDs of In-Reply-To and References that are followed to find a thread. */
export const referencesMax = 100

/** A field's line has 998 characters at most (RFC 5322 §2.1.1). */
const longest = 996

/**
 * The Message-IDs in the value of Message-ID, In-Reply-To or References (RFC 5322 §3.6.4), each in `<…>`, in order and
 * once. Old phrases and comments around them are passed over; a bare `x@y` counts when nothing stands in brackets. Some
 * programs write the brackets as entities of HTML, or an id as a link.
 */
export function readMessageIds(given: string): string[] {
  const value = given.replaceAll(/&lt;|&gt;/gi, entity => (entity.toLowerCase() === '&lt;' ? '<' : '>'))
  const found = value.match(/<[^<>]+>/g) ?? value.split(/[\s<>,;()"]+/).filter(isBare)
  // What was folded in the middle is put together again.
  const ids = found.map(id => `<${id.replace(/[<>\s\p{Cc}]/gu, '').replace(/^mailto:/i, '')}>`)
  return [...new Set(ids)].filter(id => id.length > 2 && id.length <= longest)
}

/** A word with an @ that is not at either end. */
function isBare(word: string): boolean {
  const at = word.indexOf('@', 1)
  return at > 0 && at < word.length - 1
}

/** A chain that is too long keeps its first, which began the thread, and the newest (as RFC 5537 §3.4.4 cuts it). */
export function cutChain(ids: readonly string[], length: number): string[] {
  return ids.length <= length ? [...ids] : [ids[0]!, ...ids.slice(ids.length - length + 1)]
}

/** The chain of References, of which no more is kept than is followed. */
export function readReferences(value: string): string[] {
  return cutChain(readMessageIds(value), referencesMax)
}
