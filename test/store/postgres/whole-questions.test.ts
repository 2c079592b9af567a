import t from 'tap'
import { StorageUnreachable } from '../../../lib/base/storage-fault.ts'
import { joinedText } from '../../../lib/store/postgres/joined.ts'
import { askTogether } from '../../../lib/store/postgres/questions.ts'
import type { Answer } from '../../../lib/store/transactions/connection.ts'
import { type Chance, chanceOf } from '../../support/fuzz.ts'
import { type Facts, sameFacts } from '../../support/kept-facts.ts'

/** What a server is asked, and by how many places in its text. */
const texts = {
  one: 'select "a" where "b" = $1',
  two: 'select "a" where "b" = $1 and "c" = $2',
  plain: 'select "a"',
  ordered: 'select "a" where "b" = $1 order by "a"',
  locked: 'select "a" where "b" = $1 for update',
  change: 'update "a" set "b" = $1',
} as const
type Name = keyof typeof texts
const placesOf = (name: Name) => texts[name].match(/\$/g)?.length ?? 0

type Value = string | number | null | Buffer | Date

interface Asked {
  readonly name: Name
  readonly values: readonly Value[]
}

interface Story {
  /** What is asked, in so many turns of the event loop. */
  readonly turns: readonly (readonly Asked[])[]
  /** How the server answers what is asked of many at once, by turns; it answers what is asked of one. */
  readonly joined?: readonly (Error | undefined)[]
  /** What it refuses: by the first value. */
  readonly refused?: Value
  /** A plan that it has is of older tables: so many of those that have names. */
  readonly oldPlans?: number
  readonly noConnection?: Error
}

const oldPlan = () => Object.assign(new Error('cached plan must not change result type'), { code: '0A000' })
/** As many rows as its first value has characters, each with the values. */
const rowsOf = (values: readonly unknown[]) =>
  Array.from({ length: String(values[0] ?? '').length % 4 }, (_, row) => ({ row, values: values.join() }))

/** Asks a server that says with each row what it was asked. */
async function play({ turns, joined = [], refused, oldPlans = 0, noConnection }: Story) {
  const lines: string[] = []
  const wrong: string[] = []
  const answers = [...joined]
  let old = oldPlans
  let taken = 0
  let free = 0
  const ask = askTogether(async () => {
    if (noConnection) throw noConnection
    const number = ++taken
    lines.push(`connection ${number}`)
    let isTaken = true
    return {
      async query(text: string, values: readonly unknown[] = [], name?: string) {
        if (!isTaken) wrong.push('asked over a connection that was given back')
        const isJoined = text.startsWith('select "asked"')
        const types = [...text.matchAll(/::(\w+)\[\]/g)].map(([, type]) => type).join()
        const title = isJoined
          ? `as one (${types})`
          : Object.entries(texts).find(([, one]) => one === text)?.[0]
        const said = values.map(one => (Buffer.isBuffer(one) ? 'bytes' : JSON.stringify(one))).join(' ')
        lines.push(`${number}: ${title}${name === undefined ? ' without a name' : ''}: ${said}`)
        await new Promise(resolve => setImmediate(resolve))
        if (old > 0 && name !== undefined) {
          old--
          throw oldPlan()
        }
        if (isJoined) {
          const failure = answers.shift()
          if (failure) throw failure
          if ((values[0] as Value[]).includes(refused!)) throw new Error('one of them is refused')
          return joinedRows(values as Value[][])
        }
        if (values.length > 0 && values[0] === refused) throw new Error(`refused: ${values[0]}`)
        const rows = rowsOf(values)
        return { command: 'SELECT', rowCount: rows.length, rows }
      },
      release() {
        if (!isTaken) wrong.push('given back twice')
        isTaken = false
        free++
      },
    }
  })
  const asked: Promise<void>[] = []
  for (const turn of turns) {
    for (const { name, values } of turn) {
      const title = `${name} ${values.map(one => (Buffer.isBuffer(one) ? 'bytes' : JSON.stringify(one))).join(' ')}`
      const answered = ask(texts[name], values, 'kept').then(
        ({ rows, rowCount }) => {
          lines.push(`${title} -> ${rowCount}`)
          const right = rowsOf(values)
          if (JSON.stringify(rows) !== JSON.stringify(right) || rowCount !== right.length)
            wrong.push(`${title} was answered ${JSON.stringify(rows)}`)
          if (values.length > 0 && values[0] === refused) wrong.push(`${title} was not refused`)
        },
        (error: Error) => {
          lines.push(`${title} -> ${error.message}`)
          if (!noConnection && (values.length === 0 || values[0] !== refused))
            wrong.push(`${title}: ${error.message}`)
        },
      )
      asked.push(answered)
    }
    await new Promise(resolve => setImmediate(resolve))
  }
  await Promise.all(asked)
  await new Promise(resolve => setImmediate(resolve))
  if (free !== taken) wrong.push(`${taken} connections were taken, and ${free} given back`)
  return { lines, wrong }
}

/** Those of all, the last ones first: no order is promised. */
function joinedRows(columns: readonly (readonly Value[])[]): Answer {
  const count = columns[0]!.length
  const rows = Array.from({ length: count }, (_, n) =>
    rowsOf(columns.map(column => column[n])).map(row => ({ '#': String(n + 1), ...row })),
  )
  return { command: 'SELECT', rowCount: 0, rows: rows.reverse().flat() }
}

const of = (name: Name, ...values: Value[]): Asked => ({ name, values })

const stories: readonly (readonly [string, Story])[] = [
  ['one', { turns: [[of('one', 'abc')]] }],
  ['three of one text', { turns: [[of('one', 'a'), of('one', 'bb'), of('one', '')]] }],
  [
    'of two texts, and of two turns',
    { turns: [[of('one', 'a'), of('two', 'a', 1), of('one', 'bb')], [of('one', 'c')]] },
  ],
  [
    'texts and numbers, and what is not there',
    { turns: [[of('two', 'a', 1), of('two', null, 2), of('two', 'bb', null)]] },
  ],
  ['nothing that is there', { turns: [[of('one', null), of('one', null)]] }],
  ['of several types', { turns: [[of('one', 'a'), of('one', 1)]] }],
  ['bytes', { turns: [[of('one', Buffer.from('ab')), of('one', Buffer.from('c'))]] }],
  ['numbers that are not whole', { turns: [[of('one', 1.5), of('one', 2)]] }],
  ['without values', { turns: [[of('plain'), of('plain')]] }],
  ['in an order', { turns: [[of('ordered', 'a'), of('ordered', 'bb')]] }],
  ['for an update', { turns: [[of('locked', 'a'), of('locked', 'bb')]] }],
  ['changes', { turns: [[of('change', 'a'), of('change', 'bb')]] }],
  [
    'more than go over a connection',
    { turns: [Array.from({ length: 34 }, (_, n) => of('ordered', `${n}`))] },
  ],
  [
    'what is refused as one is asked apart from then on',
    {
      turns: [[of('one', 'a'), of('one', 'bb')], [], [], [], [], [of('one', 'c'), of('one', 'dd')]],
      joined: [new Error('no such type')],
    },
  ],
  [
    'in an outage it is not refused',
    {
      turns: [[of('one', 'a'), of('one', 'bb')], [], [], [], [], [of('one', 'c'), of('one', 'dd')]],
      joined: [new StorageUnreachable(new Error('gone'))],
    },
  ],
  [
    'nor by a plan of older tables',
    {
      turns: [[of('one', 'a'), of('one', 'bb')], [], [], [], [], [], [of('one', 'c'), of('one', 'dd')]],
      oldPlans: 1,
    },
  ],
  ['nor is what is asked of one', { turns: [[of('ordered', 'a'), of('ordered', 'bb')]], oldPlans: 2 }],
  ['one that is refused', { turns: [[of('ordered', 'a'), of('ordered', 'bb')]], refused: 'bb' }],
  [
    'no connection',
    { turns: [[of('one', 'a'), of('one', 'bb')], [of('two', 'c', 1)]], noConnection: new Error('no room') },
  ],
]

t.test('how questions travel', async t => {
  const facts: Facts[] = []
  for (const [title, story] of stories) {
    const { lines, wrong } = await play(story)
    t.strictSame(wrong, [], title)
    facts.push([title, lines])
  }
  const asked = { text: texts.two, values: ['a', 1], name: undefined }
  facts.push(['two of a text, as the server is asked', joinedText([asked, asked])?.text])
  sameFacts(t, 'questions', facts)
})

const names = Object.keys(texts) as Name[]
const someValue = (chance: Chance): Value =>
  chance.of<Value>(['', 'a', 'bb', 'ccc', 1, 22, null, null, 2.5, Buffer.from('b'), 'dddd'])

t.test(
  'whatever is asked at once, each is answered as it would be alone, over connections that are given back',
  async t => {
    for (let seed = 1; seed <= 150; seed++) {
      const chance = chanceOf(seed)
      const question = (): Asked => {
        const name = chance.of([...names, 'one', 'two'] as const)
        return { name, values: Array.from({ length: placesOf(name) }, () => someValue(chance)) }
      }
      const turns = Array.from({ length: 1 + chance.number(4) }, () =>
        Array.from({ length: chance.number(chance.number(4) === 0 ? 50 : 8) }, question),
      )
      const failures = [
        undefined,
        new Error('no such type'),
        oldPlan(),
        new StorageUnreachable(new Error('gone')),
      ]
      const { wrong } = await play({
        turns,
        joined: Array.from({ length: 6 }, () => chance.of(failures)),
        refused: chance.of<Value>(['a', 'bb', 22]),
        oldPlans: chance.number(3),
      })
      t.strictSame(wrong, [], `seed ${seed}`)
    }
  },
)
