import { nearestWord } from './spelling.ts'

interface Bounded {
  readonly minimum?: number | undefined
  readonly maximum?: number | undefined
}

/** What of a JSON schema says which values there may be. */
export interface ValueSchema extends Bounded {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly ValueSchema[]
  readonly oneOf?: readonly ValueSchema[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}

/**
 * What a value must be, for people: `"a" or "b"`, `a text of 1 to 998 characters`. Of null nothing is said: where it may stand it
 * says the same as leaving the value out.
 */
export function valueInWords(schema: ValueSchema): string {
  return [...new Set(formsOf(schema))].join(' or ')
}

/** One of these words; with a question where `given` looks like one of them. */
export function choiceInWords(words: readonly unknown[], given?: unknown): string {
  const choices = words.filter(word => word !== null)
  const named = choices.map(word => JSON.stringify(word)).join(', ')
  const near = typeof given === 'string' ? nearestWord(given, choices.map(String)) : undefined
  const question = near === undefined ? '' : `; did you mean ${JSON.stringify(near)}?`
  return `${choices.length > 1 ? 'one of ' : ''}${named}${question}`
}

/** `whole number from 0 to 100` */
export function wholeNumberInWords({ minimum, maximum }: Bounded): string {
  return `whole number${range('from', minimum, maximum)}`
}

function formsOf(schema: ValueSchema): string[] {
  const among = schema.anyOf ?? schema.oneOf
  if (among) return among.flatMap(formsOf)
  const words = schema.enum ?? ('const' in schema ? [schema.const] : undefined)
  if (words) return [choiceInWords(words)]
  const { minLength, maxLength, minItems, maxItems } = schema
  return [schema.type ?? []].flat().flatMap(type => {
    switch (type) {
      case 'null':
        return []
      case 'boolean':
        return ['true or false']
      case 'integer':
        return [`a ${wholeNumberInWords(schema)}`]
      case 'string':
        return [`a text${count('character', minLength, maxLength)}`]
      case 'array':
        return [`a list${count('entry', minItems, maxItems)}`]
      case 'object':
        return ['an object']
      default:
        return [`a ${type}`]
    }
  })
}

function range(from: string, least: number | undefined, most: number | undefined): string {
  if (least !== undefined && most !== undefined) return ` ${from} ${least} to ${most}`.replace('  ', ' ')
  if (least !== undefined) return ` of at least ${least}`
  return most === undefined ? '' : ` of at most ${most}`
}

function count(thing: 'character' | 'entry', least: number | undefined, most: number | undefined): string {
  // None is what may be said of everything.
  const said = range('of', least || undefined, most)
  if (said === '') return ''
  const isOne = (most ?? least) === 1
  const things = thing === 'entry' ? 'entries' : 'characters'
  return `${said} ${isOne ? thing : things}`
}
