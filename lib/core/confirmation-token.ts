import { isId } from '../base/ids.ts'
import { hmacBase64url, isEqualSecret } from '../base/secret.ts'
import type { ForwardConfirmationRow } from '../store/tables.ts'

/** The secret of a confirmation's link: its id and its end in unix seconds, signed with the account's secret. */
export function formatConfirmationToken(
  signingSecret: string,
  { id, expiresAt }: Pick<ForwardConfirmationRow, 'id' | 'expiresAt'>,
): string {
  const expires = Math.floor(Date.parse(expiresAt) / 1000)
  return `${id}.${expires}.${signatureOf(signingSecret, id, expires)}`
}

/** The id that a token was made for, unless it is not ours or its time is over. */
export function readConfirmationToken(
  signingSecret: string,
  token: string,
  now: Date,
): { readonly id: string } | 'unknown' | 'expired' {
  const [, id = '', seconds = '', signature = ''] = /^([^.]{36})\.(\d{1,12})\.([\w-]{43})$/.exec(token) ?? []
  const expires = Number(seconds)
  if (!isId(id) || !isEqualSecret(signature, signatureOf(signingSecret, id, expires))) return 'unknown'
  return expires * 1000 <= now.getTime() ? 'expired' : { id }
}

function signatureOf(secret: string, id: string, expires: number): string {
  return hmacBase64url(secret, `forwarding\n${id}\n${expires}`)
}
