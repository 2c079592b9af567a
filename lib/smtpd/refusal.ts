import {
  BlobsFault,
  DatabaseDamaged,
  isDiskFull,
  isStoragePassing,
  StorageUnreachable,
} from '../base/faults.ts'
import type { Log } from '../base/log.ts'
import { Reply } from '../base/reply.ts'

import { noRoomForMail } from '../core/app/storage.ts'

/** A reply in the form that smtp-server wants: an error with the three digits beside it. */
export interface Refusal extends Error {
  responseCode: number
}

/** The reply as smtp-server takes it; its own enhanced code is in the text (see `keepEnhancedCodes`). */
export function refusalOf(reply: Reply): Refusal {
  return Object.assign(new Error(`${reply.enhanced} ${reply.text}`), { responseCode: reply.code })
}

/**
 * What a peer is told of whatever was thrown. A Reply is told as it is; all else is a fault of ours, logged here once,
 * and the peer may try again.
 */
export function refuse(error: unknown, log: Log): Refusal {
  if (isDiskFull(error)) {
    log.error({ err: error }, 'no room for the spool file of a message')
    return refusalOf(noRoomForMail())
  }
  if (error instanceof Reply) {
    log.info({ reply: error.message, reason: error.reason }, 'refused')
    return refusalOf(error)
  }
  if (error instanceof BlobsFault) {
    log.error({ err: error }, 'a large message can not be kept')
    return refusalOf(new Reply(451, '4.3.0', 'Large mail can not be stored just now; try again later'))
  }
  // Logged once, by who found it.
  if (error instanceof DatabaseDamaged)
    return refusalOf(new Reply(451, '4.3.0', 'The database of this server is damaged; try again later'))
  if (isStoragePassing(error)) {
    log[error instanceof StorageUnreachable ? 'error' : 'warn']({ err: error }, 'mail can not be stored')
    return refusalOf(new Reply(451, '4.3.0', 'Mail can not be stored just now; try again later'))
  }
  log.error({ err: error }, 'fault in an SMTP session')
  return refusalOf(new Reply(451, '4.3.0', 'A fault of this server; try again later'))
}
