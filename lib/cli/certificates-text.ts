import { printableLine } from '../base/text.ts'
import type { ListedCertificate } from '../tls/list.ts'
import { tableOf } from './output.ts'

/** A table of them, and what is wrong with one in a line of its own, whole. */
export function tellCertificates(rows: readonly ListedCertificate[]): string {
  const problems = rows
    .filter(({ problem }) => problem !== null)
    .map(({ source, certificate, problem }) => printableLine(`${source} ${certificate}: ${problem}`))
  return [tableOf(rows, ['source', 'names', 'notAfter', 'certificate']), ...problems].join('\n\n')
}
