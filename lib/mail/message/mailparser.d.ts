/** As much of mailparser 3.9.31 as lib/mail/parse.ts uses; the package has no types of its own. */
declare module 'mailparser' {
  import type { Readable, Transform } from 'node:stream'

  export interface MailParserOptions {
    checksumAlgo?: string
    maxChildNodes?: number
    maxHeadSize?: number
    /** message/rfc822 is an attachment, whatever its disposition. */
    ignoreEmbedded?: boolean
  }

  export interface AttachmentStream {
    type: 'attachment'
    contentType: string | false
    content: Readable
    filename?: string
    contentDisposition?: string
    contentId?: string
    related?: boolean
    /** To be called once when the content was read: the parser waits for it. */
    release(): void
  }

  export interface TextContent {
    type: 'text'
  }

  /** A part in the tree that the parser builds. */
  export interface TreeNode {
    contentType: string | false
    isAttachment?: boolean
    /** Of a text part that is no attachment, once it was read. */
    textContent?: string
    children: TreeNode[]
  }

  export interface Chunk {
    type: 'node' | 'data' | 'body'
    value?: Buffer
    /** Of a node: what its header says. */
    contentType?: string | false
    disposition?: string | false
    filename?: string | false
    parentNode?: { multipart: string | false } | false
  }

  export interface HeaderLine {
    key: string
    /** The whole field, folded as it came, one character for each byte. */
    line: string
  }

  export class MailParser extends Transform {
    constructor(options?: MailParserOptions)
    tree: TreeNode | false
    curnode: TreeNode | false
    /** Whether a text part that is no attachment was seen. */
    hasText: boolean
    hasHtml: boolean
    headers: Map<string, unknown> | false
    headerLines: HeaderLine[] | false
    splitter: { compareBoundary(line: Buffer, start: number, boundary: Buffer): 1 | 2 | false }
    getTextContent(): TextContent
    processChunk(chunk: Chunk, done: (error?: Error) => void): void
  }
}
