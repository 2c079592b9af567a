import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
} from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createFile } from '../../base/files.ts'

/** The key that a CA knows this server by (ES256, RFC 7518 §3.4). */
export interface AccountKey {
  /** A JWS in the flattened form (RFC 8555 §6.2); `payload` undefined: POST-as-GET. */
  sign(header: { nonce: string; url: string; kid?: string }, payload: unknown): string
  /** What stands in the answer to a challenge (RFC 8555 §8.1). */
  keyAuthorization(token: string): string
}

/** Where it is kept in a data directory. */
export const accountKeyPath = (dataDir: string) => join(dataDir, 'acme', 'account-key.pem')

/** The key at `path` (PEM, mode 0600), made where there is none. */
export async function openAccountKey(path: string): Promise<AccountKey> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  await createFile(path, String(privateKey.export({ format: 'pem', type: 'pkcs8' })))
  return accountKey(createPrivateKey(await readFile(path, 'utf8')))
}

function accountKey(key: KeyObject): AccountKey {
  const { crv, x, y } = createPublicKey(key).export({ format: 'jwk' })
  // In the order of RFC 7638 §3.2, for the thumbprint.
  const jwk = { crv, kty: 'EC', x, y }
  const thumbprint = hash('sha256', JSON.stringify(jwk), 'base64url')
  return {
    sign({ nonce, url, kid }, payload) {
      const header = encode({ alg: 'ES256', nonce, url, ...(kid === undefined ? { jwk } : { kid }) })
      const body = payload === undefined ? '' : encode(payload)
      const signature = sign('sha256', Buffer.from(`${header}.${body}`), { key, dsaEncoding: 'ieee-p1363' })
      return JSON.stringify({ protected: header, payload: body, signature: signature.toString('base64url') })
    },
    keyAuthorization: token => `${token}.${thumbprint}`,
  }
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
