import { createRequire } from 'node:module'
import { readMessage } from '../../../lib/mail/message/read.ts'

/** What two readers can be compared by. */
export interface Opinion {
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly attachments: string
}

interface Node {
  readonly contentType: string | false
  readonly textContent?: string
  readonly children: readonly Node[]
}

interface MailParser {
  tree: Node | false
  headers: Map<string, unknown> | false
  on(event: string, listener: (value: never) => void): this
  end(raw: Buffer): void
}

/** The package has no types. */
const { MailParser } = createRequire(import.meta.url)('mailparser') as {
  MailParser: new (options: object) => MailParser
}

const squeezed = (text: string) => text.replace(/[\s\0]+/g, ' ').trim()

/** Our own reading. */
export function ownOpinion(raw: Buffer): Opinion {
  const read = readMessage(raw)
  return {
    from: read.from?.address.toLowerCase() ?? '',
    to: read.to.map(({ address }) => address.toLowerCase()).join(' '),
    subject: squeezed(read.subject),
    text: squeezed(read.text),
    attachments: read.attachments.map(({ sizeBytes }) => sizeBytes).join(' '),
  }
}

/** That of mailparser, whose texts are the parts that it shows, one after the other. */
export async function secondOpinion(raw: Buffer): Promise<Opinion> {
  const parser = new MailParser({ ignoreEmbedded: true, maxChildNodes: 1000 })
  Object.assign(parser, { getTextContent: () => ({ type: 'text' }) })
  const sizes: number[] = []
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  parser.on('data', (data: never) => {
    const { type, content, release } = data as {
      type: string
      content: NodeJS.ReadableStream
      release(): void
    }
    if (type !== 'attachment') return
    const index = sizes.push(0) - 1
    content.on('data', (chunk: Buffer) => {
      sizes[index]! += chunk.length
    })
    content.on('end', () => release())
  })
  parser.on('end', () => resolve())
  parser.on('error', reject as never)
  parser.end(raw)
  await promise
  const headers = parser.headers || new Map<string, unknown>()
  const people = (name: string) =>
    ([headers.get(name) ?? []].flat() as { value: Person[] }[]).flatMap(({ value }) => addressesOf(value))
  return {
    from: people('from')[0] ?? '',
    to: people('to').join(' '),
    subject: squeezed(String(headers.get('subject') ?? '')),
    text: parser.tree ? textOf(parser.tree) : '',
    attachments: sizes.join(' '),
  }
}

interface Person {
  readonly address?: string
  readonly group?: Person[]
}

function addressesOf(list: readonly Person[]): string[] {
  return list.flatMap(({ address, group }) =>
    group ? addressesOf(group) : address ? [address.toLowerCase()] : [],
  )
}

function textOf(node: Node): string {
  return squeezed([node.textContent ?? '', ...node.children.map(textOf)].join(' '))
}
