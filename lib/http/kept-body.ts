import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Context } from 'koa'
import { takeTurns, unpacedBytes } from '../base/concurrency.ts'
import { sha256Hex } from '../base/secrets.ts'

/** A body that stays the same: its bytes in every form are made once and held once, however many read them. */
export interface KeptBody {
  readonly etag: string
  readonly identity: Buffer
  /** None of what compression makes no smaller. */
  readonly compressed: ReadonlyMap<'br' | 'gzip', Buffer>
}

const toGzip = promisify(gzip)
const toBrotli = promisify(brotliCompress)
/** Above it the last percents cost seconds. */
const brotliQuality = 9

/** Compresses in threads, once. */
export async function keepBody(text: string | Buffer): Promise<KeptBody> {
  const identity = Buffer.from(text)
  const params = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality }
  const forms = [
    ['br', await toBrotli(identity, { params })],
    ['gzip', await toGzip(identity)],
  ] as const
  return {
    etag: sha256Hex(identity),
    identity,
    compressed: new Map(forms.filter(([, bytes]) => bytes.length < identity.length)),
  }
}

const takeTurn = takeTurns()

/**
 * Answers with it in the best form that the client takes (RFC 9110 §12.5.3), or with 304 when the client has it. To hand
 * a large one to the system takes a millisecond or two: of all who ask at once, one is answered in a turn of the event loop.
 */
export async function answerKept(context: Context, { etag, identity, compressed }: KeptBody): Promise<void> {
  context.vary('Accept-Encoding')
  context.set('Cache-Control', 'no-cache')
  context.status = 200
  const form = (['br', 'gzip'] as const).find(one => compressed.has(one) && context.acceptsEncodings(one))
  // Each form is another representation (RFC 9110 §8.8.3.3).
  context.etag = form === undefined ? etag : `${etag}-${form}`
  if (context.fresh) {
    context.status = 304
    return
  }
  if (form !== undefined) context.set('Content-Encoding', form)
  const bytes = form === undefined ? identity : compressed.get(form)!
  if (bytes.length > unpacedBytes) await takeTurn()
  context.body = bytes
}
