import { StringDecoder } from 'node:string_decoder'
import { Parser } from 'htmlparser2'
import type { Archive } from './archive.ts'

/** Levels of XML inside one another, and attributes of an element: more than any office program writes. */
const markupDepth = 256
const markupAttributes = 256

/** What is told of XML as it comes: names without their prefix. */
export interface MarkupSink {
  open?(name: string, attributes: Readonly<Record<string, string>>): void
  text?(text: string): void
  close?(name: string): void
  /** Asked after each piece: whether enough was read. */
  isDone?(): boolean
}

/**
 * Reads an XML file of an archive, in a time that grows with it; one that is not there says nothing.
 * @throws when elements are nested too deeply, or one has too many attributes: the parser needs time for each level
 */
export async function readMarkup(archive: Archive, name: string, sink: MarkupSink): Promise<void> {
  let depth = 0
  let attributeCount = 0
  const parser = new Parser(
    {
      onopentagname() {
        attributeCount = 0
        if (++depth > markupDepth) throw new Error('its elements are nested too deeply')
      },
      onattribute() {
        if (++attributeCount > markupAttributes) throw new Error('an element has too many attributes')
      },
      onopentag: (tag, attributes) => sink.open?.(localName(tag), attributes),
      ontext: text => sink.text?.(text),
      onclosetag(tag) {
        depth--
        sink.close?.(localName(tag))
      },
    },
    // No entities but those of XML itself and of characters: what a DOCTYPE declares is not read.
    { xmlMode: true, decodeEntities: true },
  )
  const decoder = new StringDecoder('utf8')
  await archive.read(name, chunk => {
    parser.write(decoder.write(chunk))
    return !sink.isDone?.()
  })
  parser.end(decoder.end())
}

function localName(tag: string): string {
  return tag.slice(tag.indexOf(':') + 1)
}
