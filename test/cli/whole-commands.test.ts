import t from 'tap'
import type { Parameter } from '../../lib/api/parameters.ts'
import { declared } from '../../lib/cli/operations/declared.ts'
import { spoken } from '../../lib/cli/operations/spoken.ts'
import { type Facts, sameFacts } from '../support/kept-facts.ts'

/** In a line: where it goes, what it is there, and how its text is read. */
function lineOf({ part, name, form, ...more }: Parameter): string {
  const { isRequired, mayClear, defaultValue, choices, description } = more
  const said = [
    `${part} ${name}, ${form}`,
    isRequired && 'required',
    mayClear && 'cleared by an empty text',
    defaultValue !== undefined && `else ${JSON.stringify(defaultValue)}`,
    choices && `one of ${choices.join(' ')}`,
    description === '' && 'without a description',
  ]
  return said.filter(Boolean).join(', ')
}

/** Scripts call these: the name of what a command takes stays, and so does what becomes of it. */
const taken = declared.map(
  ({ id, parameters, idempotencyKey, isDownload }): Facts => [
    `${spoken[id]!.words} (${id})`,
    {
      ...Object.fromEntries(parameters.map(one => [one.word, lineOf(one)])),
      'is done once for one key': idempotencyKey !== undefined,
      'is a download': isDownload,
    },
  ],
)

t.test('what each command takes', async t => sameFacts(t, 'commands', taken))
