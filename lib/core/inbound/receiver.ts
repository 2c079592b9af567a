import { isDiskFull } from '../../base/faults.ts'
import type { MailReader } from '../../reading/pool.ts'
import { noteDeferral } from '../../store/authentication-deferrals.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import type { Held } from '../../store/dialect/held.ts'
import { isFileUsed } from '../../store/raws.ts'
import type { AuthenticationDeferralRow } from '../../store/tables.ts'
import type { App, Networked, Reads } from '../app/app.ts'
import { inServerTime, mailStorageMs } from '../app/server-time.ts'
import { noRoomForMail, requireRoomForMail } from '../app/storage.ts'
import { dropFilesOf } from '../mailbox/raws.ts'
import { type Refused, recordRefused } from './admission.ts'
import type { Arrival, Reception } from './arrival.ts'
import { heldByStranger, noteStranger, type Places } from './greylist.ts'
import { askScanners } from './scan.ts'
import { createReceptionWriter } from './write-together.ts'

/**
 * Deferred messages that are remembered: of one block of addresses (/24 of IPv4, /48 of IPv6), and in all.
 */
export const deferralsPerNetwork = 200
const deferrals = 20_000

/** What the reception of mail works with, in the thread of a session: it reads the database, and asks `main` for the rest. */
export interface Receiver extends Reads, Pick<App, 'ids' | 'blobs'> {
  readonly mailReader: Pick<MailReader, 'read'>
  /** @throws Reply 452 4.3.1 */
  requireRoom(): void
  readonly main: MainThread
}

/**
 * What the reception of mail has done by the main thread, which alone writes and knows what all sessions share. What goes
 * there and comes back is plain data.
 */
export interface MainThread {
  /** Resolves with the ids of the messages when the disk has them. @throws Reply as `writeReception` */
  write(reception: Reception): Promise<string[]>
  recordRefused(refused: readonly Refused[]): Promise<void>
  noteStranger(places: Places): Promise<number>
  noteDeferral(row: AuthenticationDeferralRow): Promise<string | undefined>
  askScanners(arrival: Arrival): ReturnType<typeof askScanners>
  /** The DNS list that has the address. Never rejects. */
  findDnsList(address: string): Promise<string | undefined>
}

/** Mail can be received where nobody is asked about it. */
type Receiving = App & Partial<Pick<Networked, 'scanner' | 'dnsLists'>>

/** The same where it is done. */
function createMainThread(app: Receiving): MainThread {
  const { store: opened, storage, scanner, dnsLists } = app
  const writeReception = createReceptionWriter(app)
  const refuseFull = (error: unknown) => {
    if (!isDiskFull(error)) throw error
    throw noRoomForMail(String(error))
  }
  const inDoorTime = <T>(work: Promise<T>) => inServerTime(app, work, mailStorageMs)
  const store = {
    write: <T>(held: Held, work: (db: WriteDb) => Promise<T>) =>
      inDoorTime(opened.writeHolding(() => held, work)).catch(refuseFull),
  }
  /** Of a message that was there already, no row has the file. It is committed: whatever fails here, the file stays. */
  const removeRepeated = async (rawId: string) => {
    try {
      if (!(await isFileUsed(opened.read, rawId))) await app.blobs.remove(rawId)
    } catch (error) {
      app.log.warn({ err: error, rawId }, 'Could not check whether the file of a repeated message is needed')
    }
  }
  return {
    async write(reception) {
      const { rawId, becomes } = reception
      const isFile = 'arrival' in becomes && becomes.arrival.content.kind === 'file'
      let ids: string[]
      try {
        requireRoomForMail(storage.shared)
        ids = await inDoorTime(writeReception(reception)).catch(refuseFull)
      } catch (error) {
        if (isFile) await dropFilesOf(app, error, [rawId])
        throw error
      }
      if (isFile) await removeRepeated(rawId)
      return ids
    },
    recordRefused: refused => store.write({}, db => recordRefused(app, db, refused)),
    noteStranger: places => store.write(heldByStranger(places), db => noteStranger(app, db, places)),
    noteDeferral: row =>
      store.write({ names: ['deferrals'] }, db =>
        noteDeferral(db, row, { ofNetwork: deferralsPerNetwork, inAll: deferrals }),
      ),
    askScanners: arrival => (scanner ? askScanners(scanner, arrival) : Promise.resolve({})),
    findDnsList: address => dnsLists?.find(address) ?? Promise.resolve(undefined),
  }
}

/** For mail that is received in the main thread itself. */
export function createReceiver(app: Receiving): Receiver {
  const { config, clock, ids, log, meter, store, blobs, mailReader } = app
  const requireRoom = () => requireRoomForMail(app.storage.shared)
  return {
    config,
    clock,
    ids,
    log,
    meter,
    store,
    blobs,
    mailReader,
    requireRoom,
    main: createMainThread(app),
  }
}
