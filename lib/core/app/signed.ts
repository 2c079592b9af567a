import { isId } from '../../base/ids.ts'
import { hmacBase64url, isEqualSecret } from '../../base/secrets.ts'
import type { ForwardConfirmationRow } from '../../store/tables.ts'
import type { App, Desk } from './app.ts'

/** How long the signed URL of an attachment is valid. */
export const attachmentUrlMs = 3_600_000

/** The URLs that message rows are shown with. The secret is the account's. A URL is good for one hour, or until its key is revoked. */
export interface UrlSigner {
  attachmentUrl(messageId: string, index: number, filename: string): string
  rawUrl(messageId: string): string
}

/** @param keyId of the API key that asks; null for what no key asked for, such as webhooks */
export function createUrlSigner(app: Desk, signingSecret: string, keyId: string | null): UrlSigner {
  const base = app.baseUrl
  const expires = Math.ceil((app.clock.now().getTime() + attachmentUrlMs) / 1000)
  return {
    attachmentUrl(messageId, index, filename) {
      const signature = urlSignature(signingSecret, messageId, index, expires, keyId)
      // `/text` at the end asks for what the attachment says.
      const name = filename === 'text' ? 'text_' : encodeURIComponent(filename)
      const key = keyId === null ? '' : `&key=${keyId}`
      return `${base}/v1/attachments/${messageId}/${index}/${name}?expires=${expires}${key}&signature=${signature}`
    },
    rawUrl: messageId => `${base}/v1/messages/${messageId}/raw`,
  }
}

/** Whether a signed URL was made here and is not too old. Its file name is not signed; whether its key is revoked, the caller asks. */
export function isSignedUrl(
  app: App,
  signingSecret: string,
  url: {
    messageId: string
    index: number
    expires: string | undefined
    key: string | undefined
    signature: string | undefined
  },
): boolean {
  if (url.expires === undefined || url.signature === undefined || !/^\d{1,12}$/.test(url.expires))
    return false
  const expires = Number(url.expires)
  if (expires * 1000 < app.clock.now().getTime()) return false
  const { messageId, index, key = null } = url
  return isEqualSecret(url.signature, urlSignature(signingSecret, messageId, index, expires, key))
}

function urlSignature(
  secret: string,
  messageId: string,
  index: number,
  expires: number,
  keyId: string | null,
): string {
  const key = keyId === null ? '' : `\n${keyId}`
  return hmacBase64url(secret, `attachment\n${messageId}\n${index}\n${expires}${key}`)
}

/** The secret of a confirmation's link: its id and its end in unix seconds, signed with the account's secret. */
export function formatConfirmationToken(
  signingSecret: string,
  { id, expiresAt }: Pick<ForwardConfirmationRow, 'id' | 'expiresAt'>,
): string {
  const expires = Math.floor(Date.parse(expiresAt) / 1000)
  return `${id}.${expires}.${tokenSignature(signingSecret, id, expires)}`
}

/** The id that a token was made for, unless it is not ours or its time is over. */
export function readConfirmationToken(
  signingSecret: string,
  token: string,
  now: Date,
): { readonly id: string } | 'unknown' | 'expired' {
  const [, id = '', seconds = '', signature = ''] = /^([^.]{36})\.(\d{1,12})\.([\w-]{43})$/.exec(token) ?? []
  const expires = Number(seconds)
  if (!isId(id) || !isEqualSecret(signature, tokenSignature(signingSecret, id, expires))) return 'unknown'
  return expires * 1000 <= now.getTime() ? 'expired' : { id }
}

function tokenSignature(secret: string, id: string, expires: number): string {
  return hmacBase64url(secret, `forwarding\n${id}\n${expires}`)
}
