/** One tag of a tag-list and where in the text its value stands. */
export interface Tag {
  readonly value: string
  readonly start: number
  readonly end: number
}

/**
 * A tag-list (RFC 6376 §3.2) by the names of its tags; undefined when it is none: something that is no tag, or a name
 * twice. Linear in its length.
 */
export function parseTags(text: string): ReadonlyMap<string, Tag> | undefined {
  const tags = new Map<string, Tag>()
  const specs = text.split(';')
  // The last semicolon may stand alone.
  if (isBlank(specs.at(-1)!)) specs.pop()
  let at = 0
  for (const spec of specs) {
    const equals = spec.indexOf('=')
    const name = trimFolds(spec.slice(0, Math.max(equals, 0)))
    if (!/^[a-z][a-z0-9_]*$/i.test(name) || tags.has(name)) return undefined
    const value = trimFolds(spec.slice(equals + 1))
    if (!/^[\t\n\r\x20-\x7e]*$/.test(value)) return undefined
    tags.set(name, { value, start: at + equals + 1, end: at + spec.length })
    at += spec.length + 1
  }
  return tags.size === 0 ? undefined : tags
}

/** Without any white space, as base64 and lists of names are read. */
export function withoutSpace(text: string): string {
  return text.replace(/[ \t\r\n]+/g, '')
}

function isBlank(text: string): boolean {
  return /^[ \t\r\n]*$/.test(text)
}

function trimFolds(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text[start]!)) start++
  while (end > start && isBlank(text[end - 1]!)) end--
  return text.slice(start, end)
}
