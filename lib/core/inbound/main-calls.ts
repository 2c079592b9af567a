import type { Caller } from '../../base/threads.ts'
import { crossed, crossing } from '../../blob/content.ts'
import { createDnsCache } from '../../mail/authentication/dns-cache.ts'
import type { MailReader } from '../../reading/pool.ts'
import type { ReadingRequest } from '../../reading/reading.ts'
import type { Networked } from '../app/app.ts'
import type { Arrival, Reception } from './arrival.ts'
import { createReceiver, type MainThread } from './receiver.ts'

/** A question for DNS, as of `Dns.resolve`. */
interface Question {
  readonly name: string
  readonly type: string
  readonly isFresh: boolean
}

/** An answer of DNS on its way into another thread. */
type Resolved = { readonly records: readonly unknown[] } | { readonly code: string; readonly message: string }

/** What the main thread does for the receivers in other threads, in the form in which it crosses. All of them share one memory of DNS. */
export function createMainCalls(app: Networked) {
  const { main } = createReceiver(app)
  const lookup = createDnsCache(app)
  return {
    ...main,
    write: (reception: Reception) => main.write(withContent(reception, crossed)),
    askScanners: (arrival: Arrival) => main.askScanners({ ...arrival, content: crossed(arrival.content) }),
    read: ({ request, party }: { readonly request: ReadingRequest; readonly party: string }) =>
      app.mailReader.read({ ...request, content: crossed(request.content) }, party),
    async resolve({ name, type, isFresh }: Question): Promise<Resolved> {
      try {
        return { records: await lookup(name, type, isFresh) }
      } catch (error) {
        const { code = 'ESERVFAIL', message } = error as NodeJS.ErrnoException
        return { code, message }
      }
    },
  }
}

export type MainCalls = ReturnType<typeof createMainCalls>

/** The main thread as receivers in another thread ask it. */
export interface DistantMain extends MainThread {
  read: MailReader['read']
  /** As `resolve` of node:dns, with its errors. */
  resolve(name: string, type: string, isFresh?: boolean): Promise<unknown[]>
}

export function callMain(call: Caller<MainCalls>['call']): DistantMain {
  return {
    write(reception) {
      const crossingOne = withContent(reception, crossing)
      return call('write', crossingOne, buffersOf(crossingOne))
    },
    recordRefused: refused => call('recordRefused', refused),
    noteStranger: places => call('noteStranger', places),
    noteDeferral: row => call('noteDeferral', row),
    findDnsList: address => call('findDnsList', address),
    askScanners: arrival => call('askScanners', { ...arrival, content: crossing(arrival.content) }),
    read: (request, party) =>
      call('read', { request: { ...request, content: crossing(request.content) }, party }),
    async resolve(name, type, isFresh = false) {
      const answer = await call('resolve', { name, type, isFresh })
      if ('records' in answer) return [...answer.records]
      throw Object.assign(new Error(answer.message), { code: answer.code })
    },
  }
}

function withContent(reception: Reception, change: typeof crossing): Reception {
  const { becomes } = reception
  if ('nothing' in becomes) return reception
  const { arrival } = becomes
  return {
    ...reception,
    becomes: { ...becomes, arrival: { ...arrival, content: change(arrival.content) } },
  }
}

/** Their memory goes over as it is, and is not copied once more. */
function buffersOf({ becomes }: Reception): ArrayBuffer[] {
  if ('nothing' in becomes || becomes.arrival.content.kind === 'file') return []
  return [becomes.arrival.content.bytes.buffer as ArrayBuffer]
}
