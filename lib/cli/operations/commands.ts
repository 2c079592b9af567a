import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import { operations } from '../../api/index.ts'
import { type Operation, Repeated } from '../../api/operation.ts'
import { type Form, type Parameter, parametersOf } from '../../api/parameters.ts'
import { compileValidator } from '../../api/validate.ts'
import type { Given } from '../../base/found-faults.ts'
import { Problem } from '../../base/problem.ts'
import type { App } from '../../core/app/app.ts'
import { operator } from '../../core/app/caller.ts'
import { confirm } from '../confirm.ts'
import type { Ctl } from '../ctl.ts'
import { nounOf } from '../noun.ts'
import { writeBytes } from '../terminal.ts'
import { type Spoken, spoken } from './spoken.ts'
import { textOfAnswer } from './text.ts'

/** Adds a command for each operation that is spoken: what it takes is read from its declaration, as the API does. */
export function addOperationCommands(program: Command, ctl: Ctl): void {
  for (const declared of operations) {
    const how = spoken[declared.id]
    if (how) addCommand(program, ctl, declared, how)
  }
}

function addCommand(program: Command, ctl: Ctl, declared: Operation, how: Spoken): void {
  const [noun = '', verb = ''] = how.words.split(' ')
  const { positional = [] } = how
  const parameters = parametersOf(declared)
  const behind = parameters.filter(one => one.part === 'path')
  const places = [...behind, ...positional.map(name => parameters.find(one => one.name === name)!)]
  const options = parameters.filter(one => !places.includes(one))
  const command = nounOf(program, noun).command(verb).description(declared.summary)
  command.addHelpText('after', `\n${declared.description}`)
  for (const place of places) command.addArgument(argumentOf(place))
  for (const option of options) command.addOption(optionOf(option))
  if (declared.headers?.['Idempotency-Key']) {
    command.option('--idempotency-key <text>', declared.headers['Idempotency-Key'].description)
  }
  if (isDownload(declared))
    command.option('--output <file>', 'write into this file and not to the standard output')
  if (how.harm !== undefined) command.option('--yes', 'do not ask')
  command.action(async () => {
    const given = command.opts<Record<string, unknown>>()
    if (how.harm !== undefined && given.yes !== true) await confirm(how.harm)
    const values = new Map<Parameter, unknown>()
    for (const [index, place] of places.entries()) {
      if (command.args[index] !== undefined)
        values.set(place, await readValue(place, command.processedArgs[index]))
    }
    for (const option of options) {
      const value = given[attribute(option.word)]
      if (value !== undefined) values.set(option, await readValue(option, value))
    }
    const key = given.idempotencyKey as string | undefined
    await ctl.withApp(app =>
      perform(app, ctl, { declared, how, values, key, output: given.output as string }),
    )
  })
}

interface Asked {
  readonly declared: Operation
  readonly how: Spoken
  readonly values: ReadonlyMap<Parameter, unknown>
  readonly key: string | undefined
  readonly output: string | undefined
}

async function perform(app: App, ctl: Ctl, { declared, how, values, key, output }: Asked): Promise<void> {
  const of = (part: Parameter['part']) =>
    Object.fromEntries(
      [...values].filter(([one]) => one.part === part).map(([one, value]) => [one.name, value]),
    )
  const params = of('path') as Record<string, string>
  const headers: Record<string, string> = { 'idempotency-key': key ?? randomUUID() }
  let answer: unknown
  try {
    const query = declared.query ? compileValidator(declared.query, 'query')(of('query')) : {}
    const others = (given: Given) => declared.faults?.(given, app) ?? []
    const body = declared.body ? compileValidator(declared.body, 'body')(of('body'), { others }) : {}
    const signal = () => new AbortController().signal
    answer = await declared.handle({
      app,
      caller: operator,
      params,
      query,
      body,
      header: name => headers[name],
      signal,
    })
  } catch (error) {
    throw inWordsOfOptions(error)
  }
  if (isDownload(declared)) {
    const { content } = answer as { content: NodeJS.ReadableStream }
    if (output === undefined) await writeBytes(content)
    else await pipeline(content, createWriteStream(output, { flags: 'wx' }))
    return
  }
  const said = answer instanceof Repeated ? answer.answer : answer
  const last = Object.values(params).at(-1)
  const done = declared.method === 'delete' ? { deleted: last } : { ok: true }
  ctl
    .output()
    .say(said ?? done, () => (how.text ? how.text(said as never) : textOfAnswer(said ?? done, how.columns)))
}

function isDownload({ success }: Operation): boolean {
  return 'download' in success
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
  word,
  description,
  choices,
  form,
  isRequired,
  mayClear,
  defaultValue,
}: Parameter): Option {
  const more = [
    ...(mayClear ? ['an empty text clears it'] : []),
    ...(form === 'texts' || form === 'files' ? ['may be given several times'] : []),
    ...(defaultValue === undefined ? [] : [`default: ${defaultValue}`]),
  ]
  const help = `${firstSentence(description)}${more.length > 0 ? ` (${more.join('; ')})` : ''}`
  const option = new Option(`--${word} ${choices ? '<word>' : placeholders[form]}`, help)
  option.argParser(parserOf(form))
  if (form === 'boolean') option.preset('true')
  if (choices) option.choices(choices)
  return isRequired ? option.makeOptionMandatory() : option
}

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
  if (form === 'files') {
    return Promise.all(
      (given as string[]).map(async path => ({
        filename: basename(path),
        content: (await readFile(path)).toString('base64'),
      })),
    )
  }
  if (given === '' && mayClear) return null
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

/** A fault of the query or the body, told by the option that it came from. */
function inWordsOfOptions(error: unknown): unknown {
  if (!(error instanceof Problem)) return error
  const word = (name: string) =>
    `--${name.replaceAll('_', '-').replaceAll(/[A-Z]/g, one => `-${one.toLowerCase()}`)}`
  const message = error.message.replaceAll(/\b(?:query|body)\/([A-Za-z_]+)/g, (_, name: string) =>
    name === 'podId' || name === 'inboxId' ? word(name.slice(0, -2)) : word(name),
  )
  return message === error.message ? error : new Problem(error.code, message, error.more)
}
