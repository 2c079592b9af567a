/**
 * What a reader, a door or a courier says to many inputs, kept whole in test/data/facts: one text file for each test, a section for each input,
 * a line for each fact, so that a change of any of them is a line in a diff. `MAILBOXD_KEEP_FACTS=yes` writes the files anew; who does so reads the diff.
 */

import { hash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { Test } from 'tap'

const folder = new URL('../data/facts/', import.meta.url)
const isWritten = process.env.MAILBOXD_KEEP_FACTS !== undefined
const most = 300

/** A section of the file: what was asked, and all that was said. */
export type Facts = readonly [title: string, said: unknown]

/** Holds all of it against the file of that name. */
export function sameFacts(t: Test, name: string, all: readonly Facts[]): void {
  const path = new URL(`${name}.txt`, folder)
  const said = new Map(all.map(([title, one]) => [title.replaceAll('\n', ' '), factsOf(one).join('\n')]))
  if (said.size < all.length) throw new Error('two sections have one title')
  if (isWritten) writeFileSync(path, [...said].map(([title, lines]) => `== ${title}\n${lines}\n`).join('\n'))
  const kept = existsSync(path) ? sectionsOf(readFileSync(path, 'utf8')) : new Map<string, string>()
  t.same([...said.keys()], [...kept.keys()], 'what is asked')
  // TAP has words of its own in names.
  for (const [title, lines] of said)
    t.equal(lines, kept.get(title), title.replace(/[^\w .,:@<>()/-]+/g, ' ').slice(0, 100))
}

function sectionsOf(text: string): Map<string, string> {
  const sections = text.split(/^== /m).slice(1)
  return new Map(
    sections.map(section => {
      const end = section.indexOf('\n')
      return [section.slice(0, end), section.slice(end + 1).replace(/\n+$/, '')]
    }),
  )
}

/** A line for each plain value in it, with the way to it; none for what says nothing (null, an empty text or list). */
function factsOf(value: unknown, path = ''): string[] {
  const at = path === '' ? '' : `${path}: `
  if (typeof value === 'string') return [`${at}${shown(value)}`]
  if (value instanceof Lines) return value.lines.map(line => `${at}${line}`)
  if (value instanceof Uint8Array) return [`${at}${bytesShown(Buffer.from(value))}`]
  if (value instanceof Date) return [`${at}${value.toISOString()}`]
  if (value instanceof Error) return [`${at}${value}`]
  if (value instanceof Map) return factsOf(Object.fromEntries(value), path)
  if (value instanceof Set) return factsOf([...value], path)
  if (typeof value !== 'object' || value === null) return [`${at}${value}`]
  const inner = Object.entries(value).filter(([, one]) => Array.isArray(value) || saysSomething(one))
  if (inner.length === 0) return [`${at}${Array.isArray(value) ? 'none' : 'nothing'}`]
  if (inner.every(([, one]) => isShort(one))) {
    const line = JSON.stringify(Array.isArray(value) ? value : Object.fromEntries(inner))
    if (line.length <= 120) return [`${at}${line}`]
  }
  // Of a dialogue the place of a line says nothing, and would be another in a whole diff.
  const isDialogue = Array.isArray(value) && inner.every(([, one]) => typeof one === 'string')
  if (isDialogue) return inner.map(([, line]) => `${at}${shown(String(line))}`)
  return inner.flatMap(([key, one]) => factsOf(one, path === '' ? key : `${path}.${key}`))
}

const saysSomething = (value: unknown) =>
  value != null &&
  value !== '' &&
  typeof value !== 'function' &&
  !(Array.isArray(value) && value.length === 0)

const isShort = (value: unknown) =>
  value === null || ['string', 'number', 'boolean', 'undefined'].includes(typeof value)

/** As JSON, of a long one the beginning, and what tells whether the rest is another. */
function shown(text: string): string {
  if (text.length <= most) return JSON.stringify(text)
  return `${JSON.stringify(text.slice(0, most))}… (${text.length} characters, ${sum(text)})`
}

function bytesShown(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  const isText = !text.includes('\ufffd') && !/[\0-\x08\x0b\x0c\x0e-\x1f]/.test(text)
  if (isText) return shown(text)
  if (bytes.length <= 64) return `hex ${bytes.toString('hex')}`
  return `hex ${bytes.toString('hex', 0, 64)}… (${bytes.length} bytes, ${sum(bytes)})`
}

const sum = (value: string | Buffer) => hash('sha256', value).slice(0, 12)

/** Lines that are facts already. */
class Lines {
  readonly lines: readonly string[]
  constructor(lines: readonly string[]) {
    this.lines = lines
  }
}

/** What is read of the first `least` bytes, of one more, and so on to the whole: a line from where on something else is read. */
export function byLength(bytes: Buffer, read: (beginning: Buffer) => unknown, least = 0): Lines {
  return byLengths(
    bytes,
    Array.from({ length: bytes.length + 1 - least }, (_, at) => least + at),
    read,
  )
}

/** The same, cut off in the midst of each line, before its end, in the midst of that, and behind it. */
export function byLine(bytes: Buffer, read: (beginning: Buffer) => unknown, least = 0): Lines {
  const lengths = new Set<number>()
  for (let start = least; start < bytes.length; ) {
    const end = bytes.indexOf('\r\n', start)
    if (end < 0) break
    for (const length of [(start + end) >> 1, end, end + 1, end + 2]) lengths.add(length)
    start = end + 2
  }
  return byLengths(bytes, [...lengths, bytes.length], read)
}

function byLengths(bytes: Buffer, lengths: readonly number[], read: (beginning: Buffer) => unknown): Lines {
  const lines: string[] = []
  let last: string | undefined
  for (const length of lengths) {
    const said = factsOf(read(bytes.subarray(0, length))).join('  ')
    const line = said.length > 150 ? `${said.slice(0, 130)}… (${sum(said)})` : said
    if (said !== last) lines.push(`from ${length}: ${line}`)
    last = said
  }
  return new Lines(lines)
}
