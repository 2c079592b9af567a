import type { Finding } from '../core/domains/diagnosis.ts'
import { displayWidth } from './display-width.ts'
import { CheckFailed } from './output.ts'
import { tableWidth } from './terminal.ts'

/** The findings, the worst first, and those of one level in the order in which they were found. */
export function worstFirst(findings: readonly Finding[]): Finding[] {
  return (['error', 'warning', 'hint'] as const).flatMap(level => findings.filter(one => one.level === level))
}

const indent = ' '.repeat(9)

/**
 * The findings, the worst first, each with what to paste, which is never cut.
 * @param room how wide sentences may be, in columns of a terminal
 */
export function tellFindings(
  findings: readonly Finding[],
  room: number = tableWidth(process.stdout),
): string {
  return worstFirst(findings)
    .map(({ level, code, subject, message, paste }) => {
      const heading = `${level.padEnd(7)}  ${subject}  (${code})\n${inLines(message, room)}`
      return paste === null ? heading : `${heading}\n\n${indented(paste)}\n`
    })
    .join('\n')
}

/** Between its words, and a word that has no room stands alone. */
function inLines(text: string, room: number): string {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    const longer = line === undefined ? indent + word : `${line} ${word}`
    if (line === undefined || displayWidth(longer) > room) lines.push(indent + word)
    else lines[lines.length - 1] = longer
  }
  return lines.join('\n')
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '           ')
}

/**
 * The exit code of a check: 0 with nothing but hints, 1 with a warning, 2 with an error.
 * @throws CheckFailed for 1 and 2
 */
export function failFor(findings: readonly Finding[]): void {
  if (findings.some(one => one.level === 'error')) throw new CheckFailed(2)
  if (findings.some(one => one.level === 'warning')) throw new CheckFailed(1)
}
