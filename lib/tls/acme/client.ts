import { readRetryAfter } from '../../base/problem.ts'
import { oneLine } from '../../base/text.ts'
import type { Clock } from '../../base/time.ts'
import type { AccountKey } from './account-key.ts'
import { AcmeFault } from './fault.ts'
import type { AcmeAnswer, AcmeHttp } from './http.ts'

/** How often a nonce that the CA refuses is replaced. */
export const acmeNonceRetries = 30
/** The longest Retry-After of a CA that is followed. */
export const acmeRetryAfterMs = 7 * 86_400_000

/** The part of a CA's directory that is asked (RFC 8555 §7.1.1). */
interface Directory {
  readonly newNonce: string
  readonly newAccount: string
  readonly newOrder: string
}

/** What a CA answered to a signed request. */
export interface Resource {
  readonly url: string
  /** The object in the answer; `{}` when it is none. */
  readonly json: Readonly<Record<string, unknown>>
  readonly text: string
  /** How long it asks to wait before the next look; 0: it does not say. */
  readonly retryAfterMs: number
}

/** Signed requests to one CA in the name of one account. */
export interface AcmeClient {
  readonly key: AccountKey
  newOrder(names: readonly string[]): Promise<Resource>
  /** @param payload undefined: only reads (POST-as-GET) */
  post(url: string, payload?: unknown): Promise<Resource>
}

interface ClientParts {
  readonly http: AcmeHttp
  readonly key: AccountKey
  readonly clock: Clock
  readonly directory: string
  /** A mail address. */
  readonly contact: string | undefined
}

/**
 * Reads the directory, and makes the account or finds the one that the key has (RFC 8555 §7.3.1). The operator has
 * agreed to the terms of service.
 * @throws AcmeFault, as do all requests of the client
 */
export async function connectToCa(parts: ClientParts): Promise<AcmeClient> {
  const { http, key, clock, contact } = parts
  const directory = await readDirectory(http, parts.directory)
  /** Each answer brings one for the next request. */
  let nonce: string | undefined

  async function takeNonce(): Promise<string> {
    const taken = nonce ?? (await http.ask(directory.newNonce, { method: 'HEAD' })).field('replay-nonce')
    nonce = undefined
    if (taken === undefined || !/^[\w-]{1,500}$/.test(taken)) throw new AcmeFault('the CA gives no nonce')
    return taken
  }

  async function post(
    url: string,
    payload: unknown,
    kid?: string,
  ): Promise<Resource & { answer: AcmeAnswer }> {
    for (let tried = 0; ; tried++) {
      const header = { nonce: await takeNonce(), url, ...(kid !== undefined && { kid }) }
      const answer = await http.ask(url, { method: 'POST', body: key.sign(header, payload) })
      nonce = answer.field('replay-nonce')
      const json = parse(answer)
      const retryAfterMs =
        readRetryAfter(answer.field('retry-after') ?? '', clock.now(), acmeRetryAfterMs) ?? 0
      if (answer.status < 300) {
        return { url: answer.field('location') ?? url, json, text: answer.body, retryAfterMs, answer }
      }
      // RFC 8555 §6.5: a nonce may be refused at any time, and the same is asked again with a fresh one.
      const isBadNonce = json.type === 'urn:ietf:params:acme:error:badNonce'
      if (!isBadNonce || tried >= acmeNonceRetries) {
        throw new AcmeFault(`the CA refuses: ${problemText(json, answer.status)}`, { retryAfterMs })
      }
    }
  }

  const asked = contact === undefined ? [] : [`mailto:${contact}`]
  const account = await post(directory.newAccount, { termsOfServiceAgreed: true, contact: asked })
  const kid = account.answer.field('location')
  if (kid === undefined) throw new AcmeFault('the CA gives the account no address')
  // An account that was there keeps its contact unless it is told.
  if (JSON.stringify(account.json.contact ?? []) !== JSON.stringify(asked))
    await post(kid, { contact: asked }, kid)
  return {
    key,
    newOrder: names =>
      post(directory.newOrder, { identifiers: names.map(value => ({ type: 'dns', value })) }, kid),
    post: (url, payload) => post(url, payload, kid),
  }
}

async function readDirectory(http: AcmeHttp, url: string): Promise<Directory> {
  const answer = await http.ask(url, { method: 'GET' })
  const { newNonce, newAccount, newOrder } = parse(answer)
  const isDirectory = [newNonce, newAccount, newOrder].every(one => typeof one === 'string')
  if (answer.status !== 200 || !isDirectory) {
    throw new AcmeFault(oneLine(`${url} is no directory of ACME (HTTP ${answer.status})`))
  }
  return { newNonce, newAccount, newOrder } as Directory
}

function parse({ body }: AcmeAnswer): Record<string, unknown> {
  try {
    const json: unknown = JSON.parse(body)
    return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** A problem document (RFC 7807) in one line. */
export function problemText(problem: unknown, status?: number): string {
  const { type, detail, subproblems } = (problem ?? {}) as Record<string, unknown>
  const said = [type, detail]
    .filter(text => typeof text === 'string')
    .map(text => String(text).replace(/^urn:ietf:params:acme:error:/, ''))
  const more = Array.isArray(subproblems) ? subproblems.slice(0, 5).map(one => problemText(one)) : []
  return oneLine([...said, ...more].join(': ') || `HTTP ${status ?? 'error'}`)
}
