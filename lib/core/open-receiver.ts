import type { Ids } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import type { Meter } from '../base/metrics.ts'
import { type Clock, nodeSureMs } from '../base/time.ts'
import type { Config } from '../config/load.ts'
import { createAuthenticator } from '../mail/authentication/authenticator.ts'
import { createNearReader } from '../reading/near.ts'
import { openReader } from '../store/open.ts'
import { noteDamage, requireRoomForMail } from './app/storage.ts'
import type { DistantMain } from './inbound/main-calls.ts'
import type { Receiver } from './inbound/receiver.ts'
import { openBlobs } from './open-blobs.ts'
import { databaseOf } from './open-rows.ts'

export interface ReceiverParts {
  readonly config: Config
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly meter: Meter
  readonly main: DistantMain
  /** As in lib/reading/near.ts. */
  readonly mark: SharedArrayBuffer
  readonly suspects: ReadonlySet<string>
  /** As in lib/core/app/storage.ts. */
  readonly storage: SharedArrayBuffer
}

interface OpenReceiver {
  readonly receiver: Receiver
  close(): Promise<void>
}

/** Opens what mail is received with in another thread than the main one, which has opened the data directory. */
export async function openReceiver(parts: ReceiverParts): Promise<OpenReceiver> {
  const { config, clock, ids, log, meter, main, mark, suspects, storage } = parts
  // What it asks for are single rows.
  const location = await databaseOf(config)
  const { read, close } = await openReader(location, nodeSureMs, damage => noteDamage(storage, damage, log))
  const authenticator = createAuthenticator({
    dns: main,
    clock,
    mta: config.hostname,
    trustedSealers: config.authentication.trusted_arc_sealers,
  })
  const mailReader = createNearReader({ authenticator, mark, suspects, far: main.read })
  const blobs = await openBlobs({ config, clock, log, meter })
  const requireRoom = () => requireRoomForMail(storage)
  const store = { read }
  const receiver: Receiver = { config, clock, ids, log, meter, store, blobs, mailReader, requireRoom, main }
  const closeAll = async () => {
    await blobs.close()
    await close()
  }
  return { receiver, close: closeAll }
}
