import type { Context } from 'koa'
import type { Download } from '../api/operation.ts'

/** Answers with bytes of a stranger's making: as a file to save, never as a page of this origin. */
export function answerDownload(context: Context, download: Download): void {
  context.set('X-Content-Type-Options', 'nosniff')
  context.set('Content-Security-Policy', "default-src 'none'; sandbox")
  context.set('Cache-Control', 'private, no-store')
  context.attachment(download.filename)
  // Set after attachment(), which guesses a type by the name.
  context.set('Content-Type', safeContentType(download.contentType))
  if (download.sizeBytes !== undefined) context.length = download.sizeBytes
  context.body = download.content
}

/** What browsers run or render with scripts, under any of its names (also in parameters, which are left off). */
const activeTypes = [
  /^[^/]+\/(.+\+)?xml$/,
  /^[^/]+\/.*(html|script|svg|xsl|xslt|mathml|wasm|hta|xul|shockwave|component|cache-manifest|signed-exchange|webbundle).*$/,
  /^multipart\//,
]

/** What a message claims is passed on only in the form of a media type (RFC 9110 §8.3.1) that no browser executes. */
function safeContentType(claimed: string): string {
  const type = claimed.toLowerCase()
  const isType = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}$/.test(type)
  return isType && !activeTypes.some(active => active.test(type)) ? type : 'application/octet-stream'
}
