import { printable } from '../../base/text.ts'
import { fieldsOf, tableOf } from '../output.ts'

/** An answer of an operation for people: a list as a table, else a line for each property, and the text of a message last. */
export function textOfAnswer(answer: unknown, columns: readonly string[] | undefined): string {
  if (typeof answer !== 'object' || answer === null) return String(answer)
  const { data, total } = answer as { data?: unknown; total?: number }
  if (!Array.isArray(data)) return textOfOne(answer)
  if (data.length === 0) return 'there is none'
  const text = columns ? tableOf(data, columns) : data.map(textOfOne).join('\n\n')
  return total !== undefined && total > data.length ? `${text}\n${data.length} of ${total}` : text
}

function textOfOne(row: object): string {
  const { bodyText, bodyHtml: _html, ...shown } = row as { bodyText?: unknown; bodyHtml?: unknown }
  const entries = Object.entries(shown)
  const tables = entries.filter(([, value]) => isTable(value))
  const fields = Object.fromEntries(entries.filter(([, value]) => !isTable(value)))
  const parts = [
    fieldsOf(fields),
    ...tables.map(
      ([name, rows]) => `${name}\n${tableOf(rows as object[], Object.keys((rows as object[])[0]!))}`,
    ),
    ...(typeof bodyText === 'string' ? [printable(bodyText)] : []),
  ]
  return parts.join('\n\n')
}

function isTable(value: unknown): boolean {
  return Array.isArray(value) && typeof value[0] === 'object' && value[0] !== null
}
