import { findCaller } from '../core/account/keys.ts'
import type { App } from '../core/app/app.ts'
import type { Caller } from '../core/app/caller.ts'

/** The token of an `Authorization: Bearer` header; undefined when there is none of that form. */
export function bearerToken(header: string | undefined): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,200}) *$/i.exec(header ?? '')?.[1]
}

/** The same in the query, for clients that can not set a header: WebSocket and EventSource in browsers. */
export function queryToken(query: URLSearchParams): string | undefined {
  return bearerToken(`Bearer ${query.get('token') ?? ''}`)
}

/** Who holds the token; undefined for a missing, wrong or revoked key. */
export async function callerOf(app: App, token: string | undefined): Promise<Caller | undefined> {
  return token === undefined ? undefined : findCaller(app, token)
}
