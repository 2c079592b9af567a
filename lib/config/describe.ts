import { allSettings, allTables, type Setting, type Table, typeInWords } from './declaration.ts'
import type { Config } from './schema.ts'
import { tomlLine, writeToml } from './toml.ts'

const width = 100

/** Every setting with its type, default and meaning, for people. */
export function describeConfig(): string {
  return inTables(({ name, meaning }) => `[${name}]  ${meaning}\n`, describeSetting)
}

function describeSetting({ path, declaration, meaning, isRequired }: Setting): string {
  const facts = [
    typeInWords(declaration),
    isRequired ? 'required' : '',
    declaration.default === undefined ? '' : `default ${inToml(declaration.default)}`,
    declaration.local === undefined ? '' : `in local mode ${inToml(declaration.local)}`,
  ]
  return `${path}\n${wrap('    ', facts.filter(fact => fact !== '').join('; '))}${wrap('    ', meaning)}`
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

function exampleSetting({ name, declaration, meaning, isRequired }: Setting): string {
  const value = declaration.default ?? declaration.examples?.[0]
  const standing = isRequired ? 'required' : declaration.default === undefined ? 'example' : 'default'
  const line = `${isRequired ? '' : '#'}${tomlLine(name, value)}\n`
  return `${wrap('# ', meaning)}# (${typeInWords(declaration)}; ${standing})\n${line}`
}

/** The settings in force as TOML, which loads again to the same. */
export function printConfig(config: Config): string {
  return writeToml(config)
}

/** What stands above the first table, then table by table, with an empty line between all. */
function inTables(table: (table: Table) => string, setting: (setting: Setting) => string): string {
  const settingsIn = (name: string) => allSettings.filter(one => one.table === name).map(setting)
  return [...settingsIn(''), ...allTables.flatMap(one => [table(one), ...settingsIn(one.name)])].join('\n')
}

/** `text` in lines that each begin with `margin`, broken at spaces. */
function wrap(margin: string, text: string): string {
  const lines = text.match(new RegExp(`\\S.{0,${width - margin.length - 1}}(?=\\s|$)`, 'g')) ?? []
  return lines.map(line => `${margin}${line}\n`).join('')
}
