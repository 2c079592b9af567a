/** As much of mailparser 3.9.31 as lib/mail/parse.ts uses; the package has no types of its own. */
declare module 'mailparser' {
  import type { Readable, Transform } from 'node:stream'

  export interface MailParserOptions {
    skipHtmlToText?: boolean
    skipTextToHtml?: boolean
    skipTextLinks?: boolean
    skipImageLinks?: boolean
    checksumAlgo?: string
    maxChildNodes?: number
    maxHeadSize?: number
    /** message/rfc822 is an attachment, whatever its disposition. */
    ignoreEmbedded?: boolean
  }

  /** One address, or a group of them. */
  export interface ParsedAddress {
    address?: string
    name: string
    group?: ParsedAddress[]
  }

  export interface ParsedAddresses {
    value: ParsedAddress[]
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
    headers: Map<string, unknown> | false
    headerLines: HeaderLine[] | false
    getTextContent(): TextContent
    processChunk(chunk: Chunk, done: (error?: Error) => void): void
  }
}
