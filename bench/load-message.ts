import { randomBytes } from 'node:crypto'
import { signDkim } from '../lib/mail/compose/dkim.ts'

/** What a message of the load is: lines of text, the same with a DKIM signature, or a text and an attachment in base64. */
export const loadKinds = ['text', 'signed', 'attachment'] as const
export type LoadKind = (typeof loadKinds)[number]

export function isLoadKind(name: string): name is LoadKind {
  return (loadKinds as readonly string[]).includes(name)
}

/** The domain that the load comes from, and the selector of its key. OpenDKIM's library for DNS never asks for names below `test`. */
export const loadDomain = 'load.example'
export const loadSelector = 'load'
export const loadSender = `load@${loadDomain}`

export interface LoadOptions {
  readonly kind: LoadKind
  readonly recipient: string
  readonly bytes: number
  /** When the messages say that they were written. */
  readonly at: Date
  /** The key of `loadSelector` at `loadDomain`, with which kind `signed` is signed. */
  readonly privateKeyPem?: string | undefined
}

/**
 * Makes messages of about `bytes`, each with a Message-ID of its own; no line of them begins with a dot.
 * @returns pieces of each that are written one after the other; what all of them share is one piece of memory
 */
export function loadMessages(options: LoadOptions): (n: number) => Promise<readonly Buffer[]> {
  const { kind, bytes } = options
  const body = kind === 'attachment' ? attachmentOf(bytes) : Buffer.alloc(0)
  return async n => {
    if (kind === 'attachment') return [Buffer.from(attachmentHead(options, n)), body]
    if (kind === 'text') return [Buffer.from(lines(plainHead(options, n), bytes))]
    const { privateKeyPem = '', at } = options
    const raw = Buffer.from(lines(fullHead(options, n, 'text/plain; charset=utf-8'), bytes))
    return [await signDkim(raw, { domain: loadDomain, selector: loadSelector, privateKeyPem, signedAt: at })]
  }
}

const line = `${'x'.repeat(70)}\r\n`
const boundary = 'load-boundary'

function lines(head: string, bytes: number): string {
  const text = `${head}\r\n${line.repeat(Math.max(1, Math.ceil((bytes - head.length) / line.length)))}`
  return `${text.slice(0, Math.max(bytes - 2, head.length + 2))}\r\n`
}

/** As little as smtp-source sends. */
function plainHead({ recipient }: LoadOptions, n: number): string {
  return `From: <${loadSender}>\r\nTo: <${recipient}>\r\nMessage-ID: <${n}.${process.pid}@${loadDomain}>\r\nSubject: ${n}\r\n`
}

function fullHead(options: LoadOptions, n: number, type: string): string {
  return `${plainHead(options, n)}Date: ${options.at.toUTCString().replace('GMT', '+0000')}\r\nMIME-Version: 1.0\r\nContent-Type: ${type}\r\n`
}

function attachmentHead(options: LoadOptions, n: number): string {
  return `${fullHead(options, n, `multipart/mixed; boundary="${boundary}"`)}\r
--${boundary}\r
Content-Type: text/plain; charset=utf-8\r
\r
Report ${n} is attached.\r
--${boundary}\r
Content-Type: application/octet-stream; name="report-${n}.bin"\r
Content-Disposition: attachment; filename="report-${n}.bin"\r
Content-Transfer-Encoding: base64\r
\r
`
}

function attachmentOf(bytes: number): Buffer {
  const encoded = randomBytes(Math.ceil((bytes * 3 * 76) / (4 * 78))).toString('base64')
  return Buffer.from(`${encoded.replace(/.{1,76}/g, '$&\r\n')}--${boundary}--\r\n`)
}
