import { choiceInWords, wholeNumberInWords } from '../base/text.ts'
import { type FormatName, formats } from './format.ts'
import { settings } from './schema.ts'
import type { Bounds, Meaning } from './setting.ts'

/** A setting or a table as the schema declares it, read without knowing which one it is. */
export interface Declaration extends Partial<Meaning>, Partial<Bounds> {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'boolean'
  readonly enum?: readonly string[]
  readonly format?: FormatName
  readonly between?: readonly [least: string, most: string]
  /** Of a list: what each entry is. */
  readonly items?: Declaration
  readonly minItems?: number
}

export interface Setting {
  readonly name: string
  /** The table that it stands in, `''` above the first one. */
  readonly table: string
  /** `smtp.max_size` */
  readonly path: string
  readonly declaration: Declaration
  /** What it means, for people. */
  readonly meaning: string
  /** It has no default and must be set. */
  readonly isRequired: boolean
}

export interface Table {
  readonly name: string
  readonly meaning: string
}

export interface Group extends Declaration {
  readonly properties: Readonly<Record<string, Declaration>>
  /** Absent where no setting of it has to be there. */
  readonly required?: readonly string[]
}

/** Whether it is a table, and not a setting. */
export const isGroup = (declaration: Declaration): declaration is Group => 'properties' in declaration

function settingsOf(table: string, group: Group): Setting[] {
  return Object.entries(group.properties).flatMap(([name, declaration]) => {
    if (isGroup(declaration)) return settingsOf(name, declaration)
    const isRequired = group.required?.includes(name) === true && declaration.default === undefined
    const { description: meaning = '' } = declaration
    return [{ name, table, path: settingPath(table, name), declaration, meaning, isRequired }]
  })
}

/** `smtp.max_size` */
export function settingPath(table: string, name: string): string {
  return table === '' ? name : `${table}.${name}`
}

/** Every setting, in the order of the schema: those above the first table come first. */
export const allSettings: readonly Setting[] = settingsOf('', settings)

/** Every table, in the order of the schema. */
export const allTables: readonly Table[] = Object.entries<Declaration>(settings.properties)
  .filter(([, declaration]) => isGroup(declaration))
  .map(([name, { description: meaning = '' }]) => ({ name, meaning }))

/** What the value of a setting must be, for people: `whole number from 1 to 1000 (recipients)`. */
export function typeInWords(declaration: Declaration): string {
  const { type, format, between, items, minimum, maximum, unit } = declaration
  if (declaration.enum) return choiceInWords(declaration.enum)
  if (items && isGroup(items)) {
    const inner = Object.entries(items.properties).map(([name, one]) => `${name} (${typeInWords(one)})`)
    return `list of tables, each with ${inner.join(' and ')}`
  }
  if (type === 'array' && items) return `list (each: ${typeInWords(items)})`
  if (type === 'boolean') return 'true or false'
  if (type === 'integer')
    return `${wholeNumberInWords({ minimum, maximum })}${unit === undefined ? '' : ` (${unit})`}`
  if (between) return `duration from ${between[0]} to ${between[1]}`
  return format ? formats[format].title : 'table'
}
