import type { ErrorObject } from 'ajv'
import { nearestWord } from '../base/text.ts'
import { allSettings, type Declaration, isGroup, settingPath, typeInWords } from './declaration.ts'
import type { Fault } from './fault.ts'
import { formats } from './format.ts'
import { tomlLine } from './toml.ts'

/** Says a fault that ajv found in the operator's words: what is there, what must be there. */
export function faultOf(error: ErrorObject): Fault {
  const declaration: Declaration = error.parentSchema as Declaration
  const path = pathOf(error.instancePath)
  switch (error.keyword) {
    case 'required':
      return missing(path, error.params.missingProperty, declaration)
    case 'additionalProperties':
      return unknown(path, error.params.additionalProperty, declaration)
    case 'type':
      return { path, message: `${found(error.data)} must be ${wanted(path, declaration, error.data)}` }
    case 'format': {
      const fault = declaration.format && formats[declaration.format].fault(String(error.data))
      return { path, message: `${found(error.data)} ${fault}` }
    }
    case 'minItems':
      return { path, message: 'is empty: it must have at least one entry' }
    case 'maxItems':
      return { path, message: 'has more than 100 entries' }
    case 'uniqueItems':
      return { path, message: `has ${found((error.data as unknown[])[error.params.j])} twice: take one out` }
    default: {
      // A table may stand here, which has no text.
      const near =
        typeof error.data === 'string' ? nearestWord(error.data, declaration.enum ?? []) : undefined
      const question = near === undefined ? '' : `; did you mean "${near}"?`
      return {
        path,
        message: `${found(error.data)} must be ${withArticle(typeInWords(declaration))}${question}`,
      }
    }
  }
}

/** `/smtp/listen/0` → `smtp.listen[0]` */
function pathOf(pointer: string): string {
  return pointer
    .slice(1)
    .replace(/\/(\d+)/g, '[$1]')
    .replaceAll('/', '.')
}

function missing(table: string, name: string, declaration: Declaration): Fault {
  const path = settingPath(table, name)
  const setting = isGroup(declaration) ? declaration.properties[name] : undefined
  // A list of tables has no path that a line could begin with.
  const line = tomlLine(table.endsWith(']') ? name : path, setting?.examples?.[0])
  return { path, message: `is missing, and has no default: add a line such as ${line}` }
}

function unknown(table: string, name: string, declaration: Declaration): Fault {
  const path = settingPath(table, /^[\w-]{1,60}$/.test(name) ? name : found(name))
  const heir = renamed.get(settingPath(table, name))
  if (heir !== undefined) return { path, message: heir }
  const place = placeOf(name)
  if (place !== '') return { path, message: `is not a setting here: it belongs ${place}` }
  const near = nearestWord(name, isGroup(declaration) ? Object.keys(declaration.properties) : [])
  if (near !== undefined) return { path, message: `is not a setting: did you mean ${near}?` }
  const elsewhere = nearestWord(
    name,
    allSettings.map(setting => setting.name),
  )
  if (elsewhere !== undefined) {
    return { path, message: `is not a setting: did you mean ${elsewhere}, ${placeOf(elsewhere)}?` }
  }
  return { path, message: 'is not a setting: "mailboxctl config describe" lists all there are' }
}

/** Where the settings of this name stand: `in [smtp] or in [http]`; `''` when there is none. */
function placeOf(name: string): string {
  return allSettings
    .filter(setting => setting.name === name)
    .map(({ table }) => (table === '' ? 'above the first [table]' : `in [${table}]`))
    .join(' or ')
}

const withArticle = (type: string) => (/^(one of|true)/.test(type) ? type : `a ${type}`)

function wanted(path: string, declaration: Declaration, value: unknown): string {
  const type = typeInWords(declaration)
  if (declaration.items && isGroup(declaration.items)) {
    return `a list of tables: write [[${path}]] and its settings in the lines below, once for each`
  }
  if (declaration.type === 'object') return `a table: write [${path}] and its settings in the lines below`
  if (declaration.type === 'array' && typeof value === 'string') return `a ${type}: write [${found(value)}]`
  if (declaration.format === 'duration' && typeof value === 'number') {
    return `a text in quotes (${type}) with its unit: write "${Math.abs(value)}s" for seconds, or ms, m, h or d in the place of s`
  }
  if (declaration.type === 'string') return `a text in quotes (${type})`
  return `${withArticle(type)}${typeof value === 'string' ? ', without quotes' : ''}`
}

/** A value of the file, short and without control characters, for a message. */
function found(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (value instanceof Date) return 'a date'
  if (typeof value === 'object') return 'a table'
  const text = typeof value === 'string' ? JSON.stringify(masked(value)) : String(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

/** What may be a URL, with a mark where a password stands: its place is what is wrong, and it is told in logs, too. */
function masked(text: string): string {
  const begin = text.indexOf('://') + 3
  if (begin < 3) return text
  const colon = text.indexOf(':', begin)
  // A password that was not encoded may have an @ of its own.
  const end = text.lastIndexOf('@')
  const marked = colon > 0 && colon < end ? `${text.slice(0, colon)}:…${text.slice(end)}` : text
  return marked.replaceAll(/([?&]password=)[^&#]*/g, '$1…')
}

/** What became of settings that had another name, in a sentence that goes on from the old one. */
const renamed: ReadonlyMap<string, string> = new Map([
  ['smtp.tls_certificate', heirOfPair('certificate')],
  ['smtp.tls_key', heirOfPair('key')],
])

function heirOfPair(name: 'certificate' | 'key'): string {
  return `is now ${name} in a table [[tls.certificate]]: write [[tls.certificate]], and in the lines below it certificate = "…" and key = "…"`
}
