import * as base64 from 'nodemailer/lib/base64'
import type MimeNode from 'nodemailer/lib/mime-node'
import * as quotedPrintable from 'nodemailer/lib/qp'

/**
 * The bytes of a message whose texts are all that it has, as the library's own `build` makes them, but at once: its streams, one for
 * each part, each encoding and the whole, took longer than all else of composing a letter.
 */
export function bytesOfTexts(root: MimeNode): Buffer {
  const pieces: string[] = []
  writeNode(root, pieces)
  const text = pieces.join('')
  return Buffer.from(text.endsWith('\n') ? text : `${text}\r\n`)
}

function writeNode(node: MimeNode, pieces: string[]): void {
  const { content } = node
  const encoding = node.getTransferEncoding()
  pieces.push(node.buildHeaders(), '\r\n\r\n')
  if (typeof content === 'string') pieces.push(encoded(content, encoding))
  if (!node.multipart) return
  for (const [index, child] of node.childNodes.entries()) {
    pieces.push(index > 0 ? '\r\n' : '', `--${node.boundary}\r\n`)
    writeNode(child, pieces)
  }
  pieces.push(`\r\n--${node.boundary}--\r\n`)
}

function encoded(text: string, encoding: string | false): string {
  if (encoding === 'quoted-printable') return quotedPrintable.wrap(quotedPrintable.encode(text))
  return encoding === 'base64' ? base64.wrap(base64.encode(text)) : text
}
