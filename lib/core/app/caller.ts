import type { Scope } from '../../base/ids.ts'
import { Problem } from '../../base/problem.ts'

/** Who asks: a key with its scope. podId and inboxId null: the whole account. */
export interface Caller extends Scope {
  readonly keyId: string | null
}

/** mailboxctl: whoever can open the database may do everything. */
export const operator: Caller = { keyId: null, podId: null, inboxId: null }

/** The widest scope that is too narrow for an operation is refused; `inbox` lets every key in. */
export type Access = 'account' | 'pod' | 'inbox'

/** @throws Problem `forbidden` when the caller's scope is narrower than `access` */
export function requireAccess(caller: Caller, access: Access): void {
  if (access === 'inbox') return
  if (caller.inboxId !== null)
    throw new Problem('forbidden', 'An inbox key may only read and send in its inbox.')
  if (access === 'account' && caller.podId !== null) {
    throw new Problem('forbidden', 'This takes an account-wide key; this key is confined to one pod.')
  }
}

/** Whether an inbox of this pod lies within the caller's scope. What does not is answered as if it did not exist. */
export function reachesInbox(caller: Caller, inbox: { id: string; podId: string }): boolean {
  if (caller.inboxId !== null) return caller.inboxId === inbox.id
  return caller.podId === null || caller.podId === inbox.podId
}

export function reachesPod(caller: Caller, podId: string): boolean {
  return caller.podId === null || caller.podId === podId
}
