/**
 * Text of format=flowed (RFC 3676 §4) with its paragraphs put together: a line that ends in a space goes on in the next
 * one of the same quote depth. The line of a signature (`-- `) never does.
 * @param deletesSpace DelSp=yes: the space was added to mark the line
 */
export function unflow(text: string, deletesSpace: boolean): string {
  const lines: string[] = []
  let isFlowing = false
  let depth = 0
  for (const line of text.split('\n')) {
    const quotes = depthOf(line)
    const stuffed = line.slice(quotes)
    const content = stuffed.startsWith(' ') ? stuffed.slice(1) : stuffed
    const goesOn = content.endsWith(' ') && content !== '-- '
    const written = goesOn && deletesSpace ? content.slice(0, -1) : content
    if (isFlowing && quotes === depth && content !== '-- ') lines.push(written)
    else lines.push(lines.length === 0 ? '' : '\n', quotes > 0 ? `${'>'.repeat(quotes)} ` : '', written)
    isFlowing = goesOn
    depth = quotes
  }
  return lines.join('')
}

function depthOf(line: string): number {
  let depth = 0
  while (line[depth] === '>') depth++
  return depth
}
