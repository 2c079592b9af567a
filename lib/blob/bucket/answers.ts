import { Parser } from 'htmlparser2'
import { oneLine } from '../../base/text.ts'

/** One object as a list shows it. */
export interface ListedObject {
  readonly key: string
  /** How long it lies there, by the server's own clock. */
  readonly ageMs: number
}

export interface ObjectPage {
  readonly objects: readonly ListedObject[]
  /** Where the list goes on; undefined at its end. */
  readonly next: string | undefined
}

/** The texts of some elements of an XML document, in their order, each below the element before it as it stands there. */
function readElements(xml: string, take: (name: string, text: string) => void): void {
  let text = ''
  const parser = new Parser(
    {
      onopentag() {
        text = ''
      },
      ontext(more) {
        text += more
      },
      onclosetag(name) {
        take(name, text)
        text = ''
      },
    },
    { xmlMode: true, decodeEntities: true },
  )
  parser.end(xml)
}

/**
 * The answer to ListObjectsV2.
 * @param date what the server's clock says, as the field Date of its answer
 * @throws Error when it is none
 */
export function readObjectPage(xml: string, date: string | string[] | undefined): ObjectPage {
  const now = Date.parse(String(date))
  const objects: ListedObject[] = []
  let next: string | undefined
  let isTruncated: boolean | undefined
  let key = ''
  let modified = Number.NaN
  readElements(xml, (name, text) => {
    if (name === 'Key') key = text
    else if (name === 'LastModified') modified = Date.parse(text)
    else if (name === 'NextContinuationToken') next = text
    else if (name === 'IsTruncated') isTruncated = text === 'true'
    else if (name === 'Contents') {
      // Of unknown age is as young as can be.
      const ageMs = now - modified
      objects.push({ key, ageMs: Number.isFinite(ageMs) ? ageMs : 0 })
      key = ''
      modified = Number.NaN
    }
  })
  if (isTruncated === undefined) throw new Error('the answer is no list of objects')
  if (isTruncated && next === undefined) throw new Error('the list of objects does not say how it goes on')
  return { objects, next: isTruncated ? next : undefined }
}

/** What a refusal says: `AccessDenied (Access Denied)`; nothing where it says nothing. */
export function readS3Fault(xml: string): string {
  let code = ''
  let message = ''
  readElements(xml.slice(0, 10_000), (name, text) => {
    if (name === 'Code') code = text
    if (name === 'Message') message = text
  })
  return oneLine(message === '' ? code : `${code} (${message})`).slice(0, 300)
}
