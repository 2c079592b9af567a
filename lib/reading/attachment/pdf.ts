import { getDocument } from 'unpdf/pdfjs'
import { type Collected, collectText } from './collected.ts'

/**
 * The text of a PDF, page after page. Of a document that breaks on its way there is what came before.
 * @param length in UTF-16 units
 * @throws when it is none, or none of it can be read; some faults of the library end the thread
 */
export async function pdfText(bytes: Buffer, length: number): Promise<string> {
  const document = await getDocument({
    // It is the library's from here on.
    data: new Uint8Array(bytes),
    // Nothing of it is drawn, fetched or run.
    disableFontFace: true,
    useSystemFonts: false,
    enableXfa: false,
    useWorkerFetch: false,
    verbosity: 0,
  }).promise
  const collected = collectText(length)
  try {
    for (let number = 1; number <= document.numPages && !collected.isFull; number++) {
      const page = await document.getPage(number)
      await readPage(page.streamTextContent(), collected)
      collected.add('\n\n')
      page.cleanup()
    }
  } catch (error) {
    if (collected.text().trim() === '') throw error
  }
  return collected.text().trim()
}

/** What the library tells of a page: texts, and marks of its structure, which have none. */
type PageContent = ReadableStream<{ readonly items: readonly { str?: string; hasEOL?: boolean }[] }>

async function readPage(content: PageContent, collected: Collected): Promise<void> {
  for await (const { items } of content) {
    for (const { str = '', hasEOL } of items) collected.add(hasEOL ? `${str}\n` : str)
    if (collected.isFull) return
  }
}
