import { limits } from '../base/limits.ts'
import { hmacBase64url, isEqualSecret } from '../base/secret.ts'
import type { App } from './app.ts'

/** The URLs that message rows are shown with. The secret is the account's; an URL is good for one hour. */
export interface UrlSigner {
  attachmentUrl(messageId: string, index: number, filename: string): string
  rawUrl(messageId: string): string
}

export function createUrlSigner(app: App, signingSecret: string): UrlSigner {
  const base = app.baseUrl
  const expires = Math.ceil((app.clock.now().getTime() + limits.attachmentUrlMs) / 1000)
  return {
    attachmentUrl(messageId, index, filename) {
      const signature = signatureOf(signingSecret, messageId, index, expires)
      const name = encodeURIComponent(filename)
      return `${base}/v1/attachments/${messageId}/${index}/${name}?expires=${expires}&signature=${signature}`
    },
    rawUrl: messageId => `${base}/v1/messages/${messageId}/raw`,
  }
}

/** Whether a signed URL was made here and is still good. The file name in it is decoration and is not signed. */
export function isSignedUrl(
  app: App,
  signingSecret: string,
  url: { messageId: string; index: number; expires: string | undefined; signature: string | undefined },
): boolean {
  if (url.expires === undefined || url.signature === undefined || !/^\d{1,12}$/.test(url.expires))
    return false
  const expires = Number(url.expires)
  if (expires * 1000 < app.clock.now().getTime()) return false
  return isEqualSecret(url.signature, signatureOf(signingSecret, url.messageId, url.index, expires))
}

function signatureOf(secret: string, messageId: string, index: number, expires: number): string {
  return hmacBase64url(secret, `attachment\n${messageId}\n${index}\n${expires}`)
}
