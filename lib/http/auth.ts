import type { App } from '../core/app.ts'
import type { Caller } from '../core/caller.ts'
import { findCaller } from '../core/keys.ts'

/** The token of an `Authorization: Bearer` header; undefined when there is none of that form. */
export function bearerToken(header: string | undefined): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,200}) *$/i.exec(header ?? '')?.[1]
}

/** Who sent the request; undefined for a missing, wrong or revoked key. */
export async function callerOf(app: App, header: string | undefined): Promise<Caller | undefined> {
  const token = bearerToken(header)
  return token === undefined ? undefined : findCaller(app, token)
}
