import type { Scope } from '../../../lib/base/ids.ts'
import { deleteInbox } from '../../../lib/store/inboxes.ts'
import type { Store } from '../../../lib/store/open.ts'
import { deleteMessages } from '../../../lib/store/removal.ts'
import type { SearchFilter } from '../../../lib/store/search/filter.ts'
import { searchEarliest, searchMessages, searchThreads } from '../../../lib/store/search/search.ts'
import { listEarliestWaiting } from '../../../lib/store/search/waiting.ts'
import { onEveryDatabase } from '../../support/databases.ts'
import { type Chance, chanceOf } from '../../support/fuzz.ts'
import { indexed } from '../../support/indexed.ts'
import {
  insertInboxRow,
  insertInstallation,
  insertPodRow,
  insertThreadRow,
  insertUnindexedRow,
} from '../../support/rows.ts'

/** A message as the test knows it, whatever a database makes of it. */
interface Known {
  readonly id: string
  readonly thread: number
  readonly inbox: number
  readonly createdAt: string
  readonly from: string
  readonly fromName: string | undefined
  readonly to: readonly string[]
  readonly toName: string | undefined
  readonly subject: string
  readonly body: string
  readonly filename: string | undefined
  readonly category: string
  readonly direction: 'inbound' | 'outbound'
  readonly isWaiting: boolean
}

type Asked = SearchFilter & { readonly isRead?: boolean }

const words = [
  'plan',
  'code',
  'Zürich',
  'zurich',
  'Ёлка',
  'b',
  '7',
  'PLAN',
  '東京都',
  '京',
  '都庁',
  'planned',
]
const separators = [' ', ' ', ', ', ' - ', '/', '\n', '. "']
const people = ['kim@a.example', 'bob@b.example', 'plan@a.example']
const names = ['Kim Lee', 'Bob 東京', 'Zoë']
const categories = ['personal', 'automated', 'spam']
/** Inboxes 0 and 1 are of one pod, 2 of another; 3, of the first, is deleted. */
const podOf = [0, 0, 1, 0]
const readThreads = new Set([1, 4])
const threadsOfInbox = [[0, 1, 2], [3], [4, 5], [6]]
const count = 60
const waitingFrom = 48

const instant = (n: number) => new Date(Date.UTC(2026, 0, 2, 3, 4, 0) + n * 500).toISOString()
const idOf = (n: number) => `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`

function textOf(chance: Chance, most: number): string {
  const some = Array.from({ length: chance.number(most + 1) }, () => chance.of(words))
  return some.map(word => `${word}${chance.of(separators)}`).join('')
}

function messagesOf(chance: Chance): Known[] {
  return Array.from({ length: count }, (_, n) => {
    // The newest in the index are of one unread thread: a page of others is further away than ten times its length.
    const inbox = n >= 30 && n < waitingFrom ? 0 : chance.number(4)
    const isSome = () => chance.number(3) === 0
    return {
      id: idOf(n),
      inbox,
      thread: n >= 30 && n < waitingFrom ? 0 : chance.of(threadsOfInbox[inbox]!),
      createdAt: instant(n),
      from: chance.of(people),
      fromName: isSome() ? chance.of(names) : undefined,
      to: Array.from({ length: 1 + chance.number(2) }, () => chance.of(people)),
      toName: isSome() ? chance.of(names) : undefined,
      subject: textOf(chance, 3),
      body: textOf(chance, 8),
      filename: isSome() ? `${chance.of(words)}.pdf` : undefined,
      category: chance.of(categories),
      direction: chance.of(['inbound', 'outbound']),
      isWaiting: n >= waitingFrom,
    }
  })
}

/** Who a name beside a message is of that has none in it else. */
const other = 'list@c.example'

async function insertAll(store: Store, messages: readonly Known[], given: Given): Promise<void> {
  await store.write(async db => {
    for (const one of messages) {
      const addressNames = {
        ...(one.fromName !== undefined && { [one.from]: one.fromName }),
        ...(one.toName !== undefined && { [other]: one.toName }),
      }
      const [first, ...cc] = one.to
      const attachments = one.filename === undefined ? [] : [{ filename: one.filename, sizeBytes: 1 }]
      await insertUnindexedRow(db, given.threads[one.thread]!, {
        id: one.id,
        createdAt: one.createdAt,
        fromAddr: one.from,
        headerTo: first!,
        cc: JSON.stringify(cc),
        addressNames: Object.keys(addressNames).length === 0 ? null : JSON.stringify(addressNames),
        subject: one.subject,
        bodyText: one.body,
        attachments: JSON.stringify(attachments),
        category: one.category,
        direction: one.direction,
        status: one.direction === 'inbound' ? 'received' : 'sent',
      })
    }
  })
}

type Given = Awaited<ReturnType<typeof insertInboxes>>

async function insertInboxes(store: Store) {
  return store.write(async db => {
    const { pod, inbox } = await insertInstallation(db)
    const pods = [pod, await insertPodRow(db)]
    const inboxes = [inbox]
    for (const [n, pod] of podOf.entries())
      if (n > 0) inboxes.push(await insertInboxRow(db, pods[pod]!.id, `i${n}@example.com`))
    const threads = []
    for (const [n, some] of threadsOfInbox.entries())
      for (const thread of some)
        threads.push(
          await insertThreadRow(db, inboxes[n]!.id, {
            id: idOf(1000 + thread),
            isRead: readThreads.has(thread) ? 1 : 0,
          }),
        )
    return { pods, inboxes, threads }
  })
}

const isUnspaced = (text: string) => /^[東京都庁]+$/.test(text)

/** The words of a text, as a reader of the guide would part it. */
function partsOf(text: string): string[] {
  const plain = text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return plain.match(/[東京都庁]+|[\p{L}\p{N}]+/gu) ?? []
}

/** Whether these words stand there, one after the other; of a script without spaces anywhere in a run. */
function holds(text: string, phrase: string): boolean {
  const wanted = partsOf(phrase)
  const parts = partsOf(text)
  if (wanted.length === 1 && isUnspaced(wanted[0]!)) return parts.some(part => part.includes(wanted[0]!))
  return parts.some((_, at) => wanted.every((word, index) => parts[at + index] === word))
}

const hasWords = ({ q, subject, from, to }: Asked) => [q, subject, from, to].some(Boolean)

/** One answer to all questions, that of the specification: what is asked for must hold of a message. */
function matches(one: Known, asked: Asked): boolean {
  const fromTexts = [`${one.from} ${one.fromName ?? ''}`]
  // Whose name is no author's is found under `to`.
  const toTexts = [[...one.to, one.toName ?? ''].join(' ')]
  const bodyTexts = [`${one.body} ${one.filename ?? ''}`]
  const anywhere = [...fromTexts, ...toTexts, one.subject, ...bodyTexts]
  const isIn = (texts: readonly string[], phrase: string) => texts.some(text => holds(text, phrase))
  const holdsTerms = (texts: readonly string[], terms: string) =>
    [...terms.matchAll(/(-?)(?:"([^"]*)"|(\S+))/g)].every(
      ([, minus, quoted, word]) => isIn(texts, quoted ?? word!) === (minus === ''),
    )
  return (
    holdsTerms(anywhere, asked.q ?? '') &&
    holdsTerms([one.subject], asked.subject ?? '') &&
    (asked.from === undefined || isIn(fromTexts, asked.from)) &&
    (asked.to === undefined || isIn(toTexts, asked.to)) &&
    (asked.after === undefined || one.createdAt > asked.after) &&
    (asked.before === undefined || one.createdAt < asked.before) &&
    (asked.hasAttachment === undefined || asked.hasAttachment === (one.filename !== undefined)) &&
    (asked.category === undefined || one.category === asked.category) &&
    !asked.exceptCategories?.includes(one.category) &&
    (asked.direction === undefined || one.direction === asked.direction)
  )
}

interface Place {
  readonly pod: number | null
  readonly inbox: number | null
}

const isWithin = ({ inbox }: Known, place: Place) =>
  inbox !== 3 &&
  (place.inbox === null ? place.pod === null || podOf[inbox] === place.pod : inbox === place.inbox)

function questionOf(chance: Chance): Asked {
  const isSome = () => chance.number(5) === 0
  const term = () =>
    `${chance.number(5) === 0 ? '-' : ''}${chance.number(4) === 0 ? `"${chance.of(words.slice(0, 7))} ${chance.of(words.slice(0, 7))}"` : chance.of(words)}`
  const terms = () => Array.from({ length: 1 + chance.number(2) }, term).join(' ')
  return {
    ...(isSome() && { q: terms() }),
    ...(isSome() && { subject: terms() }),
    ...(isSome() && { from: chance.of([...people, 'kim', 'a.example', 'Kim Lee', 'zoe', '京']) }),
    ...(isSome() && { to: chance.of([...people, 'bob', 'example', 'Zoë', '東京']) }),
    ...(isSome() && { after: instant(chance.number(count)) }),
    ...(isSome() && { before: instant(chance.number(count)) }),
    ...(isSome() && { hasAttachment: chance.of([true, false]) }),
    ...(isSome() && { category: chance.of([...categories, 'none']) }),
    ...(isSome() && { exceptCategories: [chance.of(categories), chance.of(categories)] }),
    ...(isSome() && { direction: chance.of(['inbound', 'outbound']) }),
    ...(isSome() && { isRead: chance.of([true, false]) }),
  }
}

onEveryDatabase('all questions are answered as a look at each message would', async (t, store) => {
  const chance = chanceOf(5)
  const given = await insertInboxes(store)
  const messages = messagesOf(chance)
  await insertAll(store, messages.slice(0, waitingFrom), given)
  await indexed(store)
  await insertAll(store, messages.slice(waitingFrom), given)
  const deleted = new Set([3, 17, 35, 47, 50].map(n => messages[n]!.id))
  await store.write(async db => {
    await deleteInbox(db, given.inboxes[3]!, instant(count))
    await deleteMessages(db, [...deleted])
  })
  const left = messages.filter(({ id }) => !deleted.has(id))

  const wrong: unknown[] = []
  let found = 0
  for (let n = 0; n < 250; n++) {
    const asked = questionOf(chance)
    const { isRead, ...filter } = asked
    const place = chance.of<Place>([
      { pod: null, inbox: null },
      { pod: 0, inbox: null },
      { pod: 1, inbox: null },
      { pod: 0, inbox: 1 },
      { pod: 0, inbox: 0 },
    ])
    const scope: Scope = {
      podId: place.pod === null ? null : given.pods[place.pod]!.id,
      inboxId: place.inbox === null ? null : given.inboxes[place.inbox]!.id,
    }
    const page = { limit: chance.number(6), offset: chance.number(4) }
    const cut = <T>(all: readonly T[]) => all.slice(page.offset, page.offset + page.limit)
    const all = left.filter(one => isWithin(one, place) && matches(one, asked))
    // Who asks for words is answered by the index alone; otherwise what waits for it comes first.
    const waiting = all.filter(({ isWaiting }) => isWaiting).reverse()
    const inIndex = all.filter(({ isWaiting }) => !isWaiting).reverse()
    const seen = [...(hasWords(asked) ? [] : waiting), ...inIndex]
    const ofState = seen.filter(({ thread }) => isRead === undefined || readThreads.has(thread) === isRead)
    const threads = [...new Set(ofState.map(({ thread }) => idOf(1000 + thread)))]
    found += seen.length
    const isKnown = chance.number(2) === 0
    const is = {
      messages: await searchMessages(store.read, scope, filter, page, isKnown ? seen.length : undefined),
      threads: await searchThreads(store.read, scope, asked, page, isKnown ? threads.length : undefined),
      earliest: (await searchEarliest(store.read, scope, filter, page.limit)).map(({ id }) => id),
      waiting: (await listEarliestWaiting(store.read, scope, filter)).map(({ id }) => id),
    }
    const said = {
      ...is,
      threads: { rows: is.threads.rows.map(({ id }) => id), total: is.threads.total },
      waiting: hasWords(asked) ? [] : is.waiting,
    }
    const right = {
      messages: { rows: cut(seen).map(({ id }) => id), total: seen.length },
      threads: { rows: cut(threads), total: threads.length },
      earliest: inIndex
        .map(({ id }) => id)
        .reverse()
        .slice(0, page.limit),
      waiting: hasWords(asked) ? [] : waiting.map(({ id }) => id).reverse(),
    }
    if (JSON.stringify(said) !== JSON.stringify(right)) wrong.push({ asked, place, page, said, right })
  }
  t.strictSame(wrong.slice(0, 2), [])
  t.ok(found > 1000, `${found} were to be found`)
})
