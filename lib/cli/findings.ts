import type { Finding } from '../core/domains/diagnosis.ts'
import { CheckFailed } from './output.ts'

/** The findings, the worst first, and those of one level in the order in which they were found. */
export function worstFirst(findings: readonly Finding[]): Finding[] {
  return (['error', 'warning', 'hint'] as const).flatMap(level => findings.filter(one => one.level === level))
}

/** The findings, the worst first, each with what to paste. */
export function tellFindings(findings: readonly Finding[]): string {
  return worstFirst(findings)
    .map(({ level, code, subject, message, paste }) => {
      const heading = `${level.padEnd(7)}  ${subject}  (${code})\n         ${message}`
      return paste === null ? heading : `${heading}\n\n${indented(paste)}\n`
    })
    .join('\n')
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
