import { createPrivateKey, generateKeyPair, hash, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import {
  type Canonicalisation,
  canonicalField,
  rawFieldName,
  rawFields,
  relaxedBodyHash,
} from './canonical.ts'

/** Signing keys (one a domain) that are kept parsed. */
const dkimKeysParsed = 1000

/**
 * Fields signed as often as they stand in the message and once more (RFC 6376 §8.15), so that a second one put in
 * on the way, which a reader may show instead of ours, breaks the signature.
 */
const oversigned = [
  'From',
  'Reply-To',
  'Subject',
  'Date',
  'To',
  'Cc',
  'Message-ID',
  'In-Reply-To',
  'References',
  'MIME-Version',
  'Content-Type',
  'Content-Transfer-Encoding',
]

/** Fields signed where they stand: a mailing list may add its own without harm. */
const signed = ['Auto-Submitted', 'List-Unsubscribe', 'List-Unsubscribe-Post']

const generate = promisify(generateKeyPair)
const keys = new Map<string, KeyObject>()

/** RSA-2048 with SHA-256 (RFC 8301), or Ed25519 (RFC 8463). */
export type DkimAlgorithm = 'rsa' | 'ed25519'

export interface DkimSigner {
  /** The domain that signs (`d=`), in A-labels. */
  readonly domain: string
  readonly selector: string
  readonly privateKeyPem: string
  readonly signedAt: Date
  /** Further keys of the domain, each of which makes a signature of its own. */
  readonly also?: readonly { readonly selector: string; readonly privateKeyPem: string }[]
}

/** A new key: the private one as PKCS #8 PEM, the public one as its record carries it. */
export async function generateDkimKey(
  algorithm: DkimAlgorithm = 'rsa',
): Promise<{ privateKeyPem: string; publicKeyBase64: string }> {
  if (algorithm === 'ed25519') {
    const made = await generate('ed25519', {
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'der' },
    })
    // RFC 8463 §4: the 32 bytes alone, which stand last.
    return {
      privateKeyPem: made.privateKey,
      publicKeyBase64: made.publicKey.subarray(-32).toString('base64'),
    }
  }
  const { privateKey, publicKey } = await generate('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  })
  return { privateKeyPem: privateKey, publicKeyBase64: publicKey.toString('base64') }
}

/** The text of the TXT record at `<selector>._domainkey.<domain>` (RFC 6376 §3.6.1). */
export function dkimRecord(publicKeyBase64: string, algorithm: DkimAlgorithm = 'rsa'): string {
  return `v=DKIM1; k=${algorithm}; p=${publicKeyBase64}`
}

/**
 * `raw` with a DKIM-Signature field for each key before it (RFC 6376): rsa-sha256 or ed25519-sha256, relaxed/relaxed, oversigned. `raw` must be
 * as it will cross the wire, with CRLF only; throws on a bare CR or LF, on a message without a From field, and on a
 * domain, selector or key that is none.
 */
export async function signDkim(raw: Buffer, signer: DkimSigner): Promise<Buffer> {
  return Buffer.concat([await dkimField(raw, await relaxedBodyHash(bodyOf(raw)), signer), raw])
}

/**
 * The fields alone, each with its line end: what stands before `raw` then. Parameters and throws as of `signDkim`.
 * @param bodyHash of `raw` (relaxedBodyHash)
 */
export async function dkimField(raw: Buffer, bodyHash: string, signer: DkimSigner): Promise<Buffer> {
  const fields = fieldsOf(raw)
  const names = selectFields(fields)
  const made: string[] = []
  for (const key of [signer, ...(signer.also ?? [])]) {
    const one = { ...signer, ...key }
    for (const name of [one.domain, one.selector]) {
      if (!/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(name))
        throw new Error(`not a DNS name to sign with: ${name}`)
    }
    const unsigned = signatureField(one, names, bodyHash)
    made.push(
      `${unsigned}${await signText(signedText({ names, headerForm: 'relaxed', unsigned }, fields), one)}\r\n`,
    )
  }
  return Buffer.from(made.join(''), 'latin1')
}

/** The signature of a text (one character a byte) in base64, folded. */
export async function signText(text: string, { privateKeyPem }: DkimSigner): Promise<string> {
  const signature = await signatureOf(Buffer.from(text, 'latin1'), privateKey(privateKeyPem))
  return signature.toString('base64').replace(/.{72}(?=.)/g, '$&\r\n\t')
}

/**
 * What a signature signs of the header (RFC 6376 §3.7): the named fields, those of one name from the last to the first
 * (§5.4.2), and its own field without its signature.
 * @param of.names in any case
 * @param fields as they stand (rawFields)
 */
export function signedText(
  of: { readonly names: readonly string[]; readonly headerForm: Canonicalisation; readonly unsigned: string },
  fields: readonly string[],
): string {
  const left = new Map<string, string[]>()
  for (const field of fields) {
    const name = rawFieldName(field)
    const same = left.get(name)
    if (same) same.push(field)
    else left.set(name, [field])
  }
  const lines = of.names
    .map(name => left.get(name.toLowerCase())?.pop())
    .filter(field => field !== undefined)
    .map(field => `${canonicalField(field, of.headerForm)}\r\n`)
  return `${lines.join('')}${canonicalField(of.unsigned, of.headerForm)}`
}

/** The body of a message; without an empty line before it there is none, as every verifier reads it. */
export function bodyOf(raw: Buffer): Buffer {
  const gap = raw.indexOf('\r\n\r\n')
  return gap < 0 ? Buffer.alloc(0) : raw.subarray(gap + 4)
}

function fieldsOf(raw: Buffer): string[] {
  const gap = raw.indexOf('\r\n\r\n')
  const header = raw.toString('latin1', 0, gap < 0 ? raw.length : gap)
  if (/\r(?!\n)|(?<!\r)\n/.test(header)) throw new Error('a bare CR or LF stands in the header')
  return rawFields(header)
}

/**
 * The names for `h=`: each as often as it stands, and those that are oversigned once more.
 * @param more fields to sign besides, where they stand
 * @throws Error without a From field
 */
export function selectFields(fields: readonly string[], more: readonly string[] = []): string[] {
  const found = fields.map(rawFieldName)
  if (!found.includes('from')) throw new Error('a message without a From field cannot be signed')
  const names = [...oversigned, ...signed, ...more].flatMap(name =>
    found.filter(each => each === name.toLowerCase()).map(() => name),
  )
  return [...names, ...oversigned]
}

function signatureField(signer: DkimSigner, names: readonly string[], bodyHash: string): string {
  const seconds = Math.floor(signer.signedAt.getTime() / 1000)
  return [
    `DKIM-Signature: v=1; a=${algorithmOf(signer.privateKeyPem)}-sha256; c=relaxed/relaxed;`,
    `\td=${signer.domain}; s=${signer.selector}; t=${seconds};`,
    `\th=${foldNames(names)};`,
    `\tbh=${bodyHash};`,
    '\tb=',
  ].join('\r\n')
}

/** Names joined by colons on lines of at most 76 characters. */
export function foldNames(names: readonly string[]): string {
  const lines = ['']
  for (const name of names) {
    const line = lines.at(-1)!
    if (line.length + name.length > 70) lines.push(`${name}:`)
    else lines[lines.length - 1] = `${line}${name}:`
  }
  return lines.join('\r\n\t').slice(0, -1)
}

/** With a callback the signature is made off the event loop. Ed25519 signs the hash (RFC 8463 §3). */
function signatureOf(text: Buffer, key: KeyObject): Promise<Buffer> {
  const isEd25519 = key.asymmetricKeyType === 'ed25519'
  const [digest, data] = isEd25519 ? [null, hash('sha256', text, 'buffer')] : ['sha256', text]
  return new Promise((resolve, reject) => {
    sign(digest, data, key, (error, signature) => (error ? reject(error) : resolve(signature)))
  })
}

function algorithmOf(privateKeyPem: string): DkimAlgorithm {
  return privateKey(privateKeyPem).asymmetricKeyType === 'ed25519' ? 'ed25519' : 'rsa'
}

/** The parsed key; parsing takes a third of the time of a signature, and a server signs with few keys. */
function privateKey(pem: string): KeyObject {
  const known = keys.get(pem)
  if (known) return known
  const key = createPrivateKey(pem)
  if (key.asymmetricKeyType !== 'rsa' && key.asymmetricKeyType !== 'ed25519')
    throw new Error('the DKIM key is neither an RSA nor an Ed25519 key')
  if (keys.size >= dkimKeysParsed) keys.delete(keys.keys().next().value!)
  keys.set(pem, key)
  return key
}
