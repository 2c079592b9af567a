import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { type Operation, Repeated, takesRoom } from '../../api/operation.ts'
import type { Parameter } from '../../api/parameters.ts'
import { loadOperation } from '../../api/resources.ts'
import type { FoundFault, Given } from '../../base/problem.ts'
import { printable } from '../../base/text.ts'
import type { App, Desk } from '../../core/app/app.ts'
import { operator } from '../../core/app/caller.ts'
import { requireRoomNow } from '../../core/app/storage.ts'
import { readRunning } from '../../core/running.ts'
import type { SendResult } from '../../model/send.ts'
import type { Ctl } from '../ctl.ts'
import { fieldsOf, tableOf } from '../output.ts'
import { writeBytes } from '../terminal.ts'
import { inWordsOfOptions, placesOf } from '../words-of-options.ts'
import type { Declared } from './declared.ts'
import type { Spoken } from './spoken.ts'

/** An operation that was called on the command line. */
interface Asked {
  readonly one: Declared
  readonly how: Spoken
  readonly values: ReadonlyMap<Parameter, unknown>
  readonly key: string | undefined
  readonly output: string | undefined
}

/** Does it and says its answer. @throws Problem as the operation, in words of the command line */
export async function perform(ctl: Ctl, asked: Asked): Promise<void> {
  const declared = await loadOperation(asked.one.resource, asked.one.id)
  if (declared.isLookup) await ctl.withDesk(desk => performOn(desk, declared, ctl, asked))
  else await ctl.withApp(app => performOn(app, declared, ctl, asked))
}

async function performOn(
  opened: Desk,
  declared: Operation,
  ctl: Ctl,
  { one, how, values, key, output }: Asked,
): Promise<void> {
  // Whoever declares a lookup is given no more than this by its types, and all others have all.
  const app = opened as App
  const of = (part: Parameter['part']) =>
    Object.fromEntries(
      [...values].filter(([{ part: its }]) => its === part).map(([{ name }, value]) => [name, value]),
    )
  const params = of('path') as Record<string, string>
  const headers: Record<string, string> = { 'idempotency-key': key ?? randomUUID() }
  // The daemon watches the disk for the API; whoever fills it by mailboxctl would do so beside that.
  if (takesRoom(declared)) await requireRoomNow(app.config)
  let answer: unknown
  try {
    const query = await validated('query', declared.query, of('query'))
    const others = (given: Given) => declared.faults?.(given, app) ?? []
    const body = await validated('body', declared.body, of('body'), others)
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
    throw inWordsOfOptions(error, placesOf(how.positional ?? []))
  }
  if (one.isDownload) {
    const { content } = answer as { content: NodeJS.ReadableStream }
    if (output === undefined) await writeBytes(content)
    else await pipeline(content, createWriteStream(output, { flags: 'wx' }))
    return
  }
  const said = await withNote(answer instanceof Repeated ? answer.answer : answer, how, app)
  const last = Object.values(params).at(-1)
  const done = declared.method === 'delete' ? { deleted: last } : { ok: true }
  ctl
    .output()
    .say(said ?? done, () => (how.text ? how.text(said as never) : textOfAnswer(said ?? done, how.columns)))
}

/** Whoever has mail queued is told where nobody is there to send it. */
async function withNote(said: unknown, { queues }: Spoken, { config }: Desk): Promise<unknown> {
  if (!queues || (said as SendResult).status !== 'pending') return said
  if ((await readRunning(config.data_dir)).isUp) return said
  return {
    ...(said as SendResult),
    note: 'queued: nothing is sent until mailboxd runs, and it does not run now',
  }
}

/** The values of one part, held against what is declared. Nothing is, where none is given: the command line was asked for what must be there. */
async function validated(
  part: 'query' | 'body',
  schema: Operation['query'],
  values: Record<string, unknown>,
  others?: (given: Given) => Iterable<FoundFault>,
): Promise<Record<string, unknown>> {
  if (!schema || Object.keys(values).length === 0) return {}
  const { compileValidator } = await import('../../api/validate.ts')
  return compileValidator(schema, part)(values, others ? { others } : {})
}

/** An answer of an operation for people: a list as a table, else a line for each property, and the text of a message last. */
function textOfAnswer(answer: unknown, columns: readonly string[] | undefined): string {
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
