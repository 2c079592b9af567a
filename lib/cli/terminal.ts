import { isUtf8 } from 'node:buffer'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { styleText } from 'node:util'
import { tellSystemFault } from '../base/faults.ts'
import { printable, printableJson } from '../base/text.ts'

/** Where text for people goes. */
export type Place = 'stdout' | 'stderr'

/** Of terminals that do not tell theirs; and what is written for people fits no narrower one. */
const unknownWidth = 100
const leastWidth = 80

/** How wide a table may be where it goes, in columns. In a pipe or a file it is cut nowhere: who looks through it looks for the whole. */
export function tableWidth({
  isTTY,
  columns,
}: {
  readonly isTTY?: boolean
  readonly columns?: number
}): number {
  return isTTY === true ? Math.max(leastWidth, columns || unknownWidth) : Number.POSITIVE_INFINITY
}

/** Of a fault of mailboxd or of the machine: EX_SOFTWARE of sysexits.h. */
export const faultExitCode = 70

/** Ends the program when its standard output takes no more. Who reads no further (head, less) has enough; all else is told. */
export function endOutput(error: Error, isJson: boolean): void {
  if ('code' in error && error.code === 'EPIPE') process.exit(0)
  const message = `the answer could not be written: ${tellSystemFault(error) ?? error.message}`
  if (isJson) writeJson('stderr', { error: 'machine_fault', message })
  else writeText('stderr', `${message}\n`)
  process.exit(faultExitCode)
}

const esc = '\x1b'
/** A line of ours that is bold, and nothing else. */
const boldLine = new RegExp(`^${esc}\\[1m([^${esc}]*)${esc}\\[22m$`, 'gm')

/**
 * Says text to people. Nothing in it commands the terminal that it comes to, now or from a file: strangers write subjects,
 * replies of servers and names of files. Only a line that is a heading is bold.
 */
export function writeText(place: Place, text: string): void {
  process[place].write(withHeadings(text))
}

/** Bold where the terminal can; `writeText` lets this through, for whole lines. */
export function heading(text: string): string {
  return styleText('bold', printable(text))
}

function withHeadings(text: string): string {
  let shown = ''
  let at = 0
  for (const match of text.matchAll(boldLine)) {
    const [whole, inner] = match
    shown += printable(text.slice(at, match.index)) + whole.replace(inner!, () => printable(inner!))
    at = match.index + whole.length
  }
  return shown + printable(text.slice(at))
}

/** Says a value as JSON, which is for programs: for a terminal what commands it is escaped, which is the same value. */
export function writeJson(place: Place, value: unknown, indent?: number): void {
  const json = JSON.stringify(value, undefined, indent)
  process[place].write(`${process[place].isTTY ? printableJson(json) : json}\n`)
}

/** Gives out bytes of strangers that were asked for: as they are into a pipe or a file, and printable to a terminal. */
export async function writeBytes(content: NodeJS.ReadableStream): Promise<void> {
  const through = process.stdout.isTTY ? [printableBytes()] : []
  await pipeline([content, ...through, process.stdout], { end: false })
}

/** Bytes as text that is printable: what is no UTF-8 is shown as `\xff`. */
export function printableBytes(): Transform {
  let kept: Buffer = Buffer.alloc(0)
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const { text, rest } = read(Buffer.concat([kept, chunk]), false)
      kept = rest
      done(null, text)
    },
    flush(done) {
      done(null, read(kept, true).text)
    },
  })
}

const longestCharacter = 4
const carriageReturn = 0x0d

/** @param isEnd whether nothing comes behind it; else what may belong to that is left over */
function read(bytes: Buffer, isEnd: boolean): { readonly text: string; readonly rest: Buffer } {
  // A character, or the two ends of a line.
  const until = isEnd ? bytes.length : Math.max(0, bytes.length - longestCharacter)
  let text = ''
  let from = 0
  let at = 0
  const take = () => {
    text += printable(bytes.toString('utf8', from, at))
  }
  while (at < until) {
    const length = lengthAt(bytes, at)
    if (length > 0) {
      at += length
      continue
    }
    take()
    text += `\\x${bytes[at]!.toString(16)}`
    at++
    from = at
  }
  if (at > from && bytes[at - 1] === carriageReturn && at < bytes.length) at--
  take()
  return { text, rest: bytes.subarray(at) }
}

function lengthAt(bytes: Buffer, at: number): number {
  if (bytes[at]! < 0x80) return 1
  for (let length = 2; length <= longestCharacter && at + length <= bytes.length; length++) {
    if (isUtf8(bytes.subarray(at, at + length))) return length
  }
  return 0
}
