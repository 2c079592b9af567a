import type { Archive } from './archive.ts'
import type { Collected } from './collected.ts'
import { readMarkup } from './markup.ts'

/** How many cells that are left out between two are shown as empty. */
const gapMost = 50

/** The sheets of a workbook (SpreadsheetML), each under its name: a line for each row, with tabs between its cells. */
export async function readSheets(archive: Archive, collected: Collected): Promise<void> {
  const sheets = await listSheets(archive)
  const shared = await readSharedStrings(archive)
  for (const { name, path } of sheets) {
    if (collected.isFull) return
    collected.add(`${name}\n`)
    await readSheet(archive, path, shared, collected)
    collected.add('\n')
  }
}

interface Sheet {
  readonly name: string
  readonly path: string
}

/** In the order in which the workbook shows them. */
async function listSheets(archive: Archive): Promise<Sheet[]> {
  const targets = new Map<string, string>()
  await readMarkup(archive, 'xl/_rels/workbook.xml.rels', {
    open(tag, { Id, Target }) {
      if (tag === 'Relationship' && Id && Target) targets.set(Id, Target)
    },
  })
  const sheets: Sheet[] = []
  await readMarkup(archive, 'xl/workbook.xml', {
    open(tag, attributes) {
      const target = tag === 'sheet' ? targets.get(attributes['r:id'] ?? '') : undefined
      if (target === undefined) return
      sheets.push({
        name: attributes.name ?? '',
        path: target.startsWith('/') ? target.slice(1) : `xl/${target}`,
      })
    },
  })
  return sheets
}

/** The texts that cells refer to by number; how much they are together, the archive's bounds say. */
async function readSharedStrings(archive: Archive): Promise<string[]> {
  const strings: string[] = []
  let current: string[] | undefined
  let isText = false
  // What is said of how a text is read aloud (rPh) is no part of it.
  let isPhonetic = false
  await readMarkup(archive, 'xl/sharedStrings.xml', {
    open(tag) {
      if (tag === 'si') current = []
      else if (tag === 't') isText = true
      else if (tag === 'rPh') isPhonetic = true
    },
    text(text) {
      if (isText && !isPhonetic) current?.push(text)
    },
    close(tag) {
      if (tag === 't') isText = false
      else if (tag === 'rPh') isPhonetic = false
      else if (tag === 'si') {
        strings.push(current?.join('') ?? '')
        current = undefined
      }
    },
  })
  return strings
}

async function readSheet(
  archive: Archive,
  path: string,
  shared: readonly string[],
  collected: Collected,
): Promise<void> {
  let column = 0
  let type = ''
  let value: string[] | undefined
  let isPhonetic = false
  await readMarkup(archive, path, {
    open(tag, { r, t }) {
      if (tag === 'row') column = 0
      else if (tag === 'c') {
        const at = columnOf(r) ?? column + 1
        // Who writes them out of order has them apart all the same.
        const gap = column === 0 ? at - 1 : Math.max(at - column, 1)
        collected.add('\t'.repeat(Math.min(gap, gapMost)))
        column = at
        type = t ?? ''
      } else if (tag === 'rPh') isPhonetic = true
      else if (tag === 'v' || (tag === 't' && !isPhonetic)) value = []
    },
    text: text => value?.push(text),
    close(tag) {
      if (tag === 'row') collected.add('\n')
      else if (tag === 'rPh') isPhonetic = false
      if (value === undefined || (tag !== 'v' && tag !== 't')) return
      collected.add(shown(value.join(''), type, shared))
      value = undefined
    },
    isDone: () => collected.isFull,
  })
}

function shown(text: string, type: string, shared: readonly string[]): string {
  if (type === 's') return shared[Number(text)] ?? ''
  if (type === 'b') return text === '1' ? 'TRUE' : 'FALSE'
  return text
}

/** The number of the column of a cell such as B7, from 1 on. */
function columnOf(reference: string | undefined): number | undefined {
  const letters = /^([A-Z]{1,3})\d/.exec(reference ?? '')?.[1]
  if (letters === undefined) return undefined
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0)
}
