import { type Archive, openArchive } from './archive.ts'
import { type Collected, collectText } from './collected.ts'
import { readMarkup } from './markup.ts'
import { readSheets } from './spreadsheet.ts'

/**
 * The text of a document, a spreadsheet or a presentation (ECMA-376): which of them it is, its files tell.
 * @throws when it is none, or holds more than is read
 */
export async function officeText(
  bytes: Buffer,
  bounds: { readonly entries: number; readonly inflatedBytes: number; readonly length: number },
): Promise<string> {
  const archive = await openArchive(bytes, bounds)
  const collected = collectText(bounds.length)
  const named = (pattern: RegExp) => archive.names.filter(name => pattern.test(name)).sort(byNumber)
  const documents = named(/^word\/document\d*\.xml$/)
  const slides = named(/^ppt\/slides\/slide\d+\.xml$/)
  if (documents.length > 0) {
    for (const name of [...documents, ...named(/^word\/(?:footnotes|endnotes)\.xml$/)])
      await readParagraphs(archive, name, collected)
  } else if (slides.length > 0) {
    for (const name of slides) {
      await readParagraphs(archive, name, collected)
      collected.add('\n')
    }
  } else if (archive.names.includes('xl/workbook.xml')) {
    await readSheets(archive, collected)
  } else {
    throw new Error('it is no document, spreadsheet or presentation')
  }
  return collected
    .text()
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

/** slide10 after slide9. */
function byNumber(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true })
}

/** Text stands in elements `t`, in paragraphs `p` (WordprocessingML and DrawingML alike); a cell of a table ends with a tab. */
async function readParagraphs(archive: Archive, name: string, collected: Collected): Promise<void> {
  if (collected.isFull) return
  let depth = 0
  let cells = 0
  // Between two paragraphs of one cell, which stay on its line.
  let isParted = false
  await readMarkup(archive, name, {
    open(tag) {
      if (tag === 't') depth++
      else if (tag === 'tc') cells++
      else if (tag === 'tab') collected.add('\t')
      else if (tag === 'br' || tag === 'cr') collected.add('\n')
    },
    text(text) {
      if (depth === 0) return
      collected.add(isParted ? ` ${text}` : text)
      isParted = false
    },
    close(tag) {
      if (tag === 't') depth--
      else if (tag === 'tc') {
        cells--
        isParted = false
        collected.add('\t')
      } else if (tag === 'tr' || (tag === 'p' && cells === 0)) collected.add('\n')
      else if (tag === 'p') isParted = true
    },
    isDone: () => collected.isFull,
  })
}
