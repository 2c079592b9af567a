import type { StorageUnreachable } from '../../base/faults.ts'
import type { Ids } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import type { Meter } from '../../base/metrics.ts'
import type { Dns } from '../../base/network.ts'
import type { SecretBox } from '../../base/secrets.ts'
import type { Clock } from '../../base/time.ts'
import type { Blobs } from '../../blob/blobs.ts'
import type { Config } from '../../config/load.ts'
import type { AddressGuard } from '../../courier/address-guard.ts'
import type { DnsLists } from '../../courier/dns-lists.ts'
import type { Scanner } from '../../courier/scanner/scanner.ts'
import type { SmtpCourier } from '../../courier/smtp/courier.ts'
import type { WebhookCourier } from '../../courier/webhook/courier.ts'
import type { Queue } from '../../queue/queue.ts'
import type { TextReader } from '../../reading/attachment/text-reader.ts'
import type { MailReader } from '../../reading/pool.ts'
import type { Renderer } from '../../rendering/renderer.ts'
import type { Store } from '../../store/open.ts'
import type { NodeHold } from '../../store/postgres/hold.ts'
import type { Nodes } from '../nodes/nodes.ts'
import type { Storage } from './storage.ts'
import type { EventStream, Readers } from './stream.ts'
import type { Waiters } from './waiters.ts'

/**
 * All that core works with, built once (lib/daemon.ts, lib/cli/open.ts). What decides is in the store. What core remembers
 * beside it (waiters, streams, who holds a key, the turns of webhooks) is bounded and may be lost: another process does without.
 */
export interface App {
  readonly config: Config
  /** Where clients reach the API; the URLs in answers begin with it. */
  readonly baseUrl: string
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** Counts what happens, for /metrics. */
  readonly meter: Meter
  /** Asking DNS and calling webhooks is all the network that mailboxctl needs too. */
  readonly dns: Dns
  readonly webhookCourier: WebhookCourier
  /** Which addresses webhooks may lead to. */
  readonly webhookGuard: AddressGuard
  readonly store: Store
  /** What the server of the database is short of, as long as some writes fail for it, though others may not. */
  shortage(): StorageUnreachable | undefined
  /** What a daemon holds on the server of the database while it asks it for anything; undefined elsewhere. */
  readonly hold: NodeHold | undefined
  /** Whether there is room for more, and what is wrong with the disk. */
  readonly storage: Storage
  /** Opens and seals the secrets that stand in rows. */
  readonly secrets: SecretBox
  /** Where the large raws are. */
  readonly blobs: Blobs
  readonly queue: Queue
  /** This process among the daemons on the same database. mailboxctl is none of them. */
  readonly nodes: Nodes
  /** Reads messages in threads, which start with the first. */
  readonly mailReader: MailReader
  /** Reads the text of attachments in a thread, which starts with the first. */
  readonly textReader: TextReader
  /** Makes what is large and goes out in a thread, which starts with the first. */
  readonly renderer: Renderer
  /** Requests under way by their Idempotency-Key, so that a repeat waits for the first instead of racing it. */
  readonly underWay: Map<string, Promise<unknown>>
  /** Who waits for mail, to be told when it has come. */
  readonly waiters: Waiters
  /** The events, to be told to whoever reads them as they come. */
  readonly stream: EventStream
  /** Who reads the stream of events. */
  readonly readers: Readers
}

/** What work on rows takes, and nothing else. */
export type Rows = Pick<
  App,
  'config' | 'clock' | 'ids' | 'log' | 'meter' | 'store' | 'storage' | 'shortage' | 'hold'
>

/** What it takes to look something up for a caller: rows, the secrets in them, and where the API is. */
export type Desk = Rows & Pick<App, 'secrets' | 'baseUrl'>

/** What it takes to look something up, in whatever thread. */
export type Reads = Pick<App, 'config' | 'clock' | 'log' | 'meter'> & { readonly store: Pick<Store, 'read'> }

/** What the daemon has besides: the way for mail. mailboxctl does without it. */
export interface Networked extends App {
  readonly courier: SmtpCourier
  readonly scanner: Scanner
  readonly dnsLists: DnsLists
}
