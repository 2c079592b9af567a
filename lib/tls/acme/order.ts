import { webcrypto } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { oneLine } from '../../base/text.ts'
import type { Clock } from '../../base/time.ts'
import { CertificateFault, checkPair, type Pair } from '../pair.ts'
import { type AcmeClient, problemText, type Resource } from './client.ts'
import { AcmeFault } from './fault.ts'
import { isToken, type Responder } from './responder.ts'

/** One order of a certificate from its begin to its end, and how often it is asked meanwhile how it stands. */
export const acmeOrderMs = 600_000
const acmePollMs = 1_000
const acmePollMaxMs = 60_000

interface OrderParts {
  readonly client: AcmeClient
  readonly responder: Responder
  readonly names: readonly string[]
  readonly clock: Clock
  /** Ends the waiting. */
  readonly signal: AbortSignal
}

/** Orders one certificate for all names, proves each by http-01, and gives it with its new key (RFC 8555 §7.1). @throws AcmeFault */
export async function orderCertificate(parts: OrderParts): Promise<Pick<Pair, 'key' | 'cert'>> {
  const { client, names, clock } = parts
  const deadline = clock.monotonicMs() + acmeOrderMs
  const order = await client.newOrder(names)
  for (const url of texts(order.json.authorizations).slice(0, names.length)) await prove(parts, url, deadline)
  await settle(parts, order.url, ['ready', 'valid'], deadline)
  const { keyPem, requestDer } = await createSigningRequest(names)
  await client.post(text(order.json.finalize, 'finalize'), { csr: requestDer.toString('base64url') })
  const { json } = await settle(parts, order.url, ['valid'], deadline)
  const { text: cert } = await client.post(text(json.certificate, 'certificate'))
  requireAnswer({ key: keyPem, cert }, names, clock.now())
  return { key: keyPem, cert }
}

/** Proves that we have one name, unless the CA knows it already. */
async function prove(parts: OrderParts, url: string, deadline: number): Promise<void> {
  const { client, responder } = parts
  const { json } = await client.post(url)
  if (json.status === 'valid') return
  const challenges = Array.isArray(json.challenges) ? (json.challenges as Record<string, unknown>[]) : []
  const challenge = challenges.find(one => one?.type === 'http-01')
  if (!challenge) throw new AcmeFault('the CA offers no http-01 challenge')
  const token = text(challenge.token, 'token')
  if (!isToken(token)) throw new AcmeFault('the CA gives a token that is none')
  await responder.answer(token, client.key.keyAuthorization(token))
  await client.post(text(challenge.url, 'url'), {})
  await settle(parts, url, ['valid'], deadline)
}

/** Looks until the resource is in one of these states, as often as the CA wants, and not for ever. */
async function settle(
  { client, clock, signal }: OrderParts,
  url: string,
  wanted: readonly string[],
  deadline: number,
): Promise<Resource> {
  for (let waitMs: number = acmePollMs; ; waitMs = Math.min(waitMs * 1.5, acmePollMaxMs)) {
    const resource = await client.post(url)
    const { status } = resource.json
    if (typeof status === 'string' && wanted.includes(status)) return resource
    const isUnderWay = status === 'pending' || status === 'processing' || status === 'ready'
    if (!isUnderWay) throw new AcmeFault(oneLine(`the CA says ${String(status)}: ${reasonOf(resource.json)}`))
    const left = deadline - clock.monotonicMs()
    if (left <= 0) throw new AcmeFault('the CA did not come to an end in time')
    const pauseMs = Math.min(Math.max(waitMs, Math.min(resource.retryAfterMs, acmePollMaxMs)), left)
    await wait(pauseMs, undefined, { signal })
  }
}

/** Why an order or an authorisation failed: its own error, or that of a challenge. */
function reasonOf(json: Readonly<Record<string, unknown>>): string {
  const challenges = Array.isArray(json.challenges) ? (json.challenges as Record<string, unknown>[]) : []
  const error = json.error ?? challenges.find(one => one?.error !== undefined)?.error
  return error === undefined ? 'without a reason' : problemText(error)
}

/** What came must be what was asked for. */
function requireAnswer(pem: Pick<Pair, 'key' | 'cert'>, names: readonly string[], now: Date): void {
  const what = "the CA's certificate"
  try {
    const { pair, outOfTime } = checkPair({ certificate: what, key: 'its key' }, pem, now)
    if (outOfTime) throw new AcmeFault(outOfTime.message)
    const missing = names.find(name => !pair.names.includes(name))
    if (missing !== undefined) throw new AcmeFault(`${what} is not for ${missing}`)
  } catch (error) {
    throw error instanceof CertificateFault ? new AcmeFault(error.message, { cause: error }) : error
  }
}

function text(value: unknown, name: string): string {
  if (typeof value === 'string') return value
  throw new AcmeFault(`the CA gives no ${name}`)
}

const texts = (value: unknown) =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []

/** A new key (P-256) as PEM, and a request for a certificate of it with these names (PKCS #10, RFC 8555 §7.4) in DER. */
async function createSigningRequest(
  names: readonly string[],
): Promise<{ readonly keyPem: string; readonly requestDer: Buffer }> {
  // Slow to load, and needed once in two months.
  const x509 = await import('@peculiar/x509')
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const request = await x509.Pkcs10CertificateRequestGenerator.create(
    {
      keys,
      signingAlgorithm: algorithm,
      extensions: [new x509.SubjectAlternativeNameExtension(names.map(value => ({ type: 'dns', value })))],
    },
    webcrypto as Crypto,
  )
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  const keyPem = `-----BEGIN PRIVATE KEY-----\n${der.replace(/.{64}(?=.)/g, '$&\n')}\n-----END PRIVATE KEY-----\n`
  return { keyPem, requestDer: Buffer.from(request.rawData) }
}
