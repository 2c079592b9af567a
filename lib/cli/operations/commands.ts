import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import type { Form, Parameter } from '../../api/parameters.ts'
import type { Ctl } from '../ctl.ts'
import { helpText } from '../help-text.ts'
import { commandOf } from '../words.ts'
import { type Declared, declared } from './declared.ts'
import { type Spoken, spoken } from './spoken.ts'

/**
 * Adds a command for each operation that is spoken: what it takes is read from its declaration, as the API does.
 * @param noun that of those that are meant; without one, all
 */
export function addOperationCommands(program: Command, ctl: Ctl, noun?: string): void {
  for (const one of declared) {
    const how = spoken[one.id]!
    if (noun === undefined || how.words.startsWith(`${noun} `)) addCommand(program, ctl, one, how)
  }
}

function addCommand(program: Command, ctl: Ctl, one: Declared, how: Spoken): void {
  const [noun = '', verb = ''] = how.words.split(' ')
  const { positional = [] } = how
  const { parameters } = one
  const behind = parameters.filter(({ part }) => part === 'path')
  const places = [
    ...behind,
    ...positional.map(name => parameters.find(parameter => parameter.name === name)!),
  ]
  const options = parameters.filter(parameter => !places.includes(parameter))
  const command = commandOf(program, noun).command(verb).description(one.summary)
  command.addHelpText('after', helpText(one.description))
  for (const place of places) command.addArgument(argumentOf(place))
  if (how.sides) command.argument('[address]', 'both sides of the address, in the place of their options')
  for (const option of options) command.addOption(optionOf(option))
  if (one.idempotencyKey !== undefined) command.option('--idempotency-key <text>', one.idempotencyKey)
  if (one.isDownload) command.option('--output <file>', 'write into this file and not to the standard output')
  if (how.harm !== undefined) command.option('--yes', 'do not ask')
  command.action(async () => {
    const given = command.opts<Record<string, unknown>>()
    const values = new Map<Parameter, unknown>()
    for (const [index, place] of places.entries()) {
      if (command.args[index] !== undefined)
        values.set(place, await readValue(place, command.processedArgs[index]))
    }
    for (const option of options) {
      const value = given[attribute(option.word)]
      if (value !== undefined) values.set(option, await readValue(option, value))
    }
    const address = command.args[places.length]
    if (how.sides && address !== undefined) {
      for (const [side, text] of sidesOf(how.sides, address)) {
        const option = options.find(({ name }) => name === side)!
        if (values.has(option)) command.error(`error: give the address or --${option.word}, one of them`)
        values.set(option, text)
      }
    }
    const key = given.idempotencyKey as string | undefined
    if (how.harm !== undefined && given.yes !== true) await askBefore(ctl, one.id, how.harm, values)
    const { perform } = await import('./perform.ts')
    await perform(ctl, { one, how, values, key, output: given.output as string | undefined })
  })
}

/** What an address gives by its sides; a name alone has no domain. */
function sidesOf([local, domain]: readonly [string, string], address: string): [string, string][] {
  const at = address.lastIndexOf('@')
  if (at === -1) return [[local, address]]
  return [
    [local, address.slice(0, at)],
    [domain, address.slice(at + 1)],
  ]
}

/** @throws Refused when the answer is not yes */
async function askBefore(
  ctl: Ctl,
  id: string,
  harm: string,
  values: ReadonlyMap<Parameter, unknown>,
): Promise<void> {
  const { harmOf } = await import('./harm.ts')
  const { confirm } = await import('../confirm.ts')
  const given = Object.fromEntries([...values].map(([{ name }, value]) => [name, value]))
  await confirm(await ctl.withRows(rows => harmOf(rows, id, harm, given)))
}

function argumentOf({ word, description, choices, form, isRequired }: Parameter): Argument {
  const argument = new Argument(isRequired ? `<${word}>` : `[${word}]`, firstSentence(description))
  argument.argParser(parserOf(form))
  return choices ? argument.choices(choices) : argument
}

const placeholders: Readonly<Record<Form, string>> = {
  text: '<text>',
  number: '<n>',
  boolean: '[true|false]',
  texts: '<text>',
  files: '<file>',
  json: '<json>',
}

function optionOf({
  name,
  word,
  description,
  choices,
  form,
  isRequired,
  mayClear,
  defaultValue,
}: Parameter): Option {
  const more = [
    ...(name === 'body' ? ['- is the standard input'] : []),
    ...(mayClear ? ['an empty text clears it'] : []),
    ...(isList(form) ? ['may be given several times'] : []),
    ...(defaultValue === undefined ? [] : [`default: ${defaultValue}`]),
  ]
  const help = `${firstSentence(description)}${more.length > 0 ? ` (${more.join('; ')})` : ''}`
  const option = new Option(`--${word} ${choices ? '<word>' : placeholders[form]}`, help)
  const parser = parserOf(form)
  // Of a list, an empty text is its only entry.
  option.argParser(
    mayClear && !isList(form) ? (text, before) => (text === '' ? '' : parser(text, before)) : parser,
  )
  if (choices) option.choices(choices)
  return isRequired ? option.makeOptionMandatory() : option
}

const isList = (form: Form) => form === 'texts' || form === 'files'

function parserOf(form: Form): (text: string, before: unknown) => unknown {
  switch (form) {
    case 'number':
      return text => {
        if (/^-?\d{1,15}$/.test(text)) return Number(text)
        throw new InvalidArgumentError('It must be a whole number.')
      }
    case 'boolean':
      return text => {
        if (text === 'true' || text === 'false') return text === 'true'
        throw new InvalidArgumentError('It is true or false.')
      }
    case 'texts':
    case 'files':
      return (text, before) => [...((before as string[] | undefined) ?? []), text]
    case 'json':
      return text => {
        try {
          return JSON.parse(text)
        } catch {
          throw new InvalidArgumentError('It must be JSON.')
        }
      }
    case 'text':
      return text => text
  }
}

/** The value as the API takes it: files are read, `-` as body is the standard input. */
async function readValue({ form, name, mayClear }: Parameter, given: unknown): Promise<unknown> {
  if (mayClear && (given === '' || (isList(form) && (given as string[]).join() === ''))) return null
  if (form === 'files') {
    return Promise.all(
      (given as string[]).map(async path => ({
        filename: basename(path),
        content: (await readFile(path)).toString('base64'),
      })),
    )
  }
  return given === '-' && name === 'body' ? readText(process.stdin) : given
}

/** What commander calls the value of an option. */
function attribute(word: string): string {
  return word.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function firstSentence(text: string): string {
  const end = /\.(?= [A-Z`])/.exec(text)
  return (end ? text.slice(0, end.index) : text).replace(/\.$/, '')
}
