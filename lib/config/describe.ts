import { nearestWord } from '../base/text.ts'
import {
  allSettings,
  allTables,
  type Declaration,
  isGroup,
  type Setting,
  type Table,
  typeInWords,
} from './declaration.ts'
import type { Config } from './schema.ts'
import { tomlLine, writeToml } from './toml.ts'

const width = 100

/**
 * Every setting with its type, default and meaning, for people.
 * @param about a table with all in it (`smtp`), or one setting (`smtp.max_size`); all there are without it
 * @returns undefined where nothing has this name
 */
export function describeConfig(about?: string): string | undefined {
  const named = about === undefined ? undefined : (listWith(about)?.path ?? about)
  const isMeant = (path: string) => named === undefined || path === named || path.startsWith(`${named}.`)
  const text = inTables(
    ({ name, meaning }) => (isMeant(name) ? `[${name}]  ${meaning}\n` : undefined),
    setting => (isMeant(setting.path) ? describeSetting(setting) : undefined),
  )
  return text === '' ? undefined : text
}

/** The list of tables in each of which a setting of this name may stand: `delivery.route` for `delivery.route.host`. */
function listWith(name: string): Setting | undefined {
  return allSettings.find(({ path, declaration: { items } }) => {
    const inside = items !== undefined && isGroup(items) ? Object.keys(items.properties) : []
    return inside.some(one => name === `${path}.${one}`)
  })
}

/** The table or the setting that somebody may have meant by a name that none has. */
export function nearestSetting(name: string): string | undefined {
  return nearestWord(name, [...allTables.map(one => one.name), ...allSettings.map(one => one.path)])
}

function describeSetting(setting: Setting): string {
  const { path, declaration, meaning, isRequired } = setting
  const facts = [
    typeInWords(declaration),
    isRequired ? 'required' : '',
    declaration.default === undefined ? '' : `default ${inToml(declaration.default)}`,
    declaration.local === undefined ? '' : `in local mode ${inToml(declaration.local)}`,
  ]
  const inside = insideOf(declaration).map(one => wrap('      ', one))
  if (inside.length > 0)
    inside.push(...['for example', ...exampleTable(setting)].map(one => `      ${one}\n`))
  return `${path}\n${wrap('    ', facts.filter(fact => fact !== '').join('; '))}${wrap('    ', meaning)}${inside.join('')}`
}

/** What stands in each table of a list of tables, and its meaning; nothing of other settings. */
function insideOf({ items }: Declaration): string[] {
  if (items === undefined || !isGroup(items)) return []
  return Object.entries(items.properties).map(([name, { description, default: byDefault }]) =>
    [`${name}: ${description}`, ...(byDefault === undefined ? [] : [`(default ${inToml(byDefault)})`])].join(
      ' ',
    ),
  )
}

const inToml = (value: unknown) => tomlLine('value', value).replace('value = ', '')

const head = [
  'The configuration of mailboxd, which "mailboxd --config <this file>" reads and "mailboxctl config check" checks.',
  'A line "#name = value" shows the default, or an example where there is none. Take the # away to change it.',
  'A duration is a whole number and a unit: ms, s, m, h or d. Nothing is read from the environment.',
]

/** An annotated TOML file: what is required is set to an example, all else stands there as a comment, with its default. */
export function exampleConfig(): string {
  const body = inTables(({ name, meaning }) => `${wrap('# ', meaning)}[${name}]\n`, exampleSetting)
  return `${head.map(line => wrap('# ', line)).join('')}\n${body}`
}

function exampleSetting(setting: Setting): string {
  const { name, declaration, meaning, isRequired } = setting
  const { default: byDefault, examples, items } = declaration
  const isTableList = items !== undefined && isGroup(items)
  const standing = isRequired ? 'required' : byDefault === undefined || isTableList ? 'example' : 'default'
  const lines = isTableList ? exampleTable(setting) : [tomlLine(name, byDefault ?? examples?.[0])]
  const text = lines.map(line => `${isRequired ? '' : '#'}${line}\n`).join('')
  const inside = insideOf(declaration).map(one => wrap('#   ', one))
  return `${wrap('# ', meaning)}${wrap('# ', `(${typeInWords(declaration)}; ${standing})`)}${inside.join('')}${text}`
}

/** One table of a list of tables, as it stands in a file. */
function exampleTable({ path, declaration }: Setting): string[] {
  const example = declaration.examples?.[0] as Readonly<Record<string, unknown>>
  return [`[[${path}]]`, ...Object.entries(example).map(([name, value]) => tomlLine(name, value))]
}

/** The settings in force as TOML, which loads again to the same. */
export function printConfig(config: Config): string {
  return writeToml(config)
}

/** What stands above the first table, then table by table, with an empty line between all. */
function inTables(
  table: (table: Table) => string | undefined,
  setting: (setting: Setting) => string | undefined,
): string {
  const settingsIn = (name: string) => allSettings.filter(one => one.table === name).map(setting)
  const all = [...settingsIn(''), ...allTables.flatMap(one => [table(one), ...settingsIn(one.name)])]
  return all.filter(one => one !== undefined).join('\n')
}

/** `text` in lines that each begin with `margin`, broken at spaces. */
function wrap(margin: string, text: string): string {
  const lines = text.match(new RegExp(`\\S.{0,${width - margin.length - 1}}(?=\\s|$)`, 'g')) ?? []
  return lines.map(line => `${margin}${line}\n`).join('')
}
