import type { Transferable } from 'node:worker_threads'
import { Reply } from './reply.ts'
import {
  DatabaseDamaged,
  type Lost,
  StorageContended,
  StorageLocked,
  StorageUnreachable,
} from './storage-fault.ts'

/** Functions that one thread does for another, by their names. What they take and give is plain data. */
export type Served = Readonly<Record<string, (what: never) => Promise<unknown>>>

/** A call on its way to the other thread. */
export interface Call {
  readonly number: number
  readonly name: string
  readonly what: unknown
}

/** What came of it on its way back; of a Reply, which refuses, what it is made of. */
export type Answer =
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly reply: readonly [number, string, string, string] }
  | { readonly number: number; readonly outage: Lost }
  | { readonly number: number; readonly locked: string }
  | { readonly number: number; readonly contended: { readonly why: string; readonly code: string } }
  | { readonly number: number; readonly damaged: { readonly why: string; readonly code: string } }
  | { readonly number: number; readonly error: unknown }

export interface Caller<Functions extends Served> {
  /** @throws what the function throws there: a Reply and what the database can not do now as they are, of all else what crosses of an error */
  call<Name extends keyof Functions & string>(
    name: Name,
    what: Parameters<Functions[Name]>[0],
    transfer?: readonly Transferable[],
  ): Promise<Awaited<ReturnType<Functions[Name]>>>
  settle(answers: readonly Answer[]): void
}

/** @param post brings the calls of one turn of the event loop over together: to wake a thread costs more than a call */
export function createCaller<Functions extends Served>(
  post: (calls: readonly Call[], transfer: readonly Transferable[]) => void,
): Caller<Functions> {
  const waiting = new Map<number, PromiseWithResolvers<never>>()
  const put = createOutbox(post)
  let last = 0
  return {
    call(name, what, transfer) {
      const number = ++last
      const settled = Promise.withResolvers<never>()
      waiting.set(number, settled)
      put({ number, name, what }, transfer)
      return settled.promise
    },
    settle(answers) {
      for (const answer of answers) {
        const settled = waiting.get(answer.number)
        waiting.delete(answer.number)
        if ('value' in answer) settled?.resolve(answer.value as never)
        else if ('reply' in answer) settled?.reject(new Reply(...answer.reply))
        else if ('outage' in answer) settled?.reject(StorageUnreachable.of(answer.outage))
        else if ('locked' in answer) settled?.reject(new StorageLocked({ cause: answer.locked }))
        else if ('contended' in answer) settled?.reject(toldContended(answer.contended))
        else if ('damaged' in answer)
          settled?.reject(new DatabaseDamaged(answer.damaged.why, answer.damaged.code))
        else settled?.reject(answer.error)
      }
    },
  }
}

/** Does the calls that come from another thread; what is done in one turn of the event loop goes back together. */
export function createAnswerer(
  functions: Served,
  post: (answers: readonly Answer[]) => void,
): (calls: readonly Call[]) => void {
  const put = createOutbox<Answer>(post)
  return calls => {
    for (const { number, name, what } of calls) {
      functions[name]!(what as never).then(
        value => put({ number, value }),
        error => put(failed(number, error)),
      )
    }
  }
}

const toldContended = ({ why, code }: { readonly why: string; readonly code: string }) =>
  new StorageContended(new Error(why), code)

function failed(number: number, error: unknown): Answer {
  if (error instanceof StorageUnreachable) return { number, outage: error.lost }
  if (error instanceof StorageLocked) return { number, locked: String(error.cause) }
  if (error instanceof StorageContended) {
    const { cause, code } = error
    return { number, contended: { why: (cause as Error).message, code } }
  }
  if (error instanceof DatabaseDamaged) return { number, damaged: { why: error.message, code: error.code } }
  if (!(error instanceof Reply)) return { number, error }
  return { number, reply: [error.code, error.enhanced, error.text, error.reason] }
}

/** Gathers what is put in one turn of the event loop, and posts it at its end. */
export function createOutbox<Item>(
  post: (items: readonly Item[], transfer: readonly Transferable[]) => void,
): (item: Item, transfer?: readonly Transferable[]) => void {
  let items: Item[] = []
  let transfers: Transferable[] = []
  return (item, transfer = []) => {
    if (items.length === 0) {
      setImmediate(() => {
        const [posted, moved] = [items, transfers]
        items = []
        transfers = []
        post(posted, moved)
      })
    }
    items.push(item)
    transfers.push(...transfer)
  }
}
