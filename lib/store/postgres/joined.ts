import { nameOf } from '../transactions/connection.ts'

/** A kept statement with its values. */
export interface Question {
  readonly text: string
  readonly values: readonly unknown[]
  readonly name: string | undefined
}

const number = '#'

/**
 * Questions of one text as one statement, which answers each with its number; undefined where that is not so: a list whose order or length
 * matters is asked alone.
 */
export function joinedText(alike: readonly Question[]): Question | undefined {
  const { text, values } = alike[0]!
  if (!text.startsWith('select ') || values.length === 0 || /\border by\b|\bfor update\b/.test(text))
    return undefined
  const columns = values.map((_, index) => alike.map(one => one.values[index]))
  const types = columns.map(typeOf)
  if (types.includes(undefined)) return undefined
  const lists = types.map((type, index) => `$${index + 1}::${type}[]`)
  const names = types.map((_, index) => `p${index + 1}`)
  const own = text.replaceAll(/\$(\d+)/g, '"asked"."p$1"')
  // With an offset it is planned as what is asked for each, by its index, and not as a join of whole tables.
  const whole = `select "asked"."${number}", "answer".* from unnest(${lists.join(', ')}) with ordinality as "asked"(${names.join(', ')}, "${number}") cross join lateral (${own} offset 0) as "answer"`
  return { text: whole, values: columns, name: nameOf(whole) }
}

/** The type that takes all these values. */
function typeOf(values: readonly unknown[]): string | undefined {
  const there = values.filter(one => one !== null)
  if (there.every(one => typeof one === 'string')) return 'text'
  if (there.every(one => Number.isSafeInteger(one))) return 'bigint'
  return undefined
}

/** The rows of each question. */
export function answersOf(
  rows: readonly Record<string, unknown>[],
  count: number,
): readonly Record<string, unknown>[][] {
  const answers = Array.from({ length: count }, () => [] as Record<string, unknown>[])
  for (const { [number]: index, ...row } of rows) answers[Number(index) - 1]!.push(row)
  return answers
}
