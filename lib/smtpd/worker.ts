import type { Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { createIds } from '../base/ids.ts'
import { createLog } from '../base/log.ts'
import { createDistantMeter, noMeter } from '../base/metrics.ts'
import { beat, createCaller, createOutbox } from '../base/threads.ts'
import { nodeClockMs, systemClock } from '../base/time.ts'

import { callMain } from '../core/inbound/main-calls.ts'
import { openReceiver } from '../core/open-receiver.ts'
import { callSubmissionDoor } from '../core/submission/door.ts'
import { createCertificateSet } from '../tls/certificate-set.ts'
import type { DoorCalls, DoorThreadData, FromDoor, ToDoor } from './door-thread.ts'
import { createSessions } from './sessions.ts'

/**
 * A thread of SMTP sessions: it takes connections that the main thread has accepted, reads the database, and has the main
 * thread do the rest.
 */
const { config, bounds, pairs, mark, suspects: known, logStyle, storage } = workerData as DoorThreadData
const port = parentPort!
const post = (message: FromDoor) => port.postMessage(message)
const { call, settle } = createCaller<DoorCalls>((calls, transfer) => {
  port.postMessage({ calls } satisfies FromDoor, [...transfer])
})
const suspects = new Set(known)
const { receiver, close } = await openReceiver({
  config,
  clock: systemClock,
  ids: createIds(systemClock, config.database === undefined ? undefined : nodeClockMs),
  // A line is written at once and whole, so that those of several threads do not mix.
  log: createLog(config.log.level, undefined, logStyle),
  meter: config.metrics.listen.length > 0 ? createDistantMeter(noted => post({ noted })) : noMeter,
  main: callMain(call),
  mark,
  suspects,
  storage,
})
const { smtp } = config
const areBytesCounted = smtp.bytes_per_minute_per_address + smtp.bytes_per_minute_per_block > 0
const areMessagesCounted = smtp.messages_per_minute_per_address + smtp.messages_per_minute_per_block > 0
/** While there are sessions. */
let rest: (() => void) | undefined
const tellEnded = createOutbox<string>(ended => post({ ended }))
const sessions = createSessions({
  ...bounds,
  receiver,
  submission: callSubmissionDoor(call),
  certificates: createCertificateSet(pairs),
  rates: {
    takeMessage(address, count) {
      if (areMessagesCounted || areBytesCounted) return call('takeMessage', { address, count })
    },
    takeBytes(address, count) {
      if (areBytesCounted && count > 0) return call('takeBytes', { address, count })
    },
  },
  ended(id) {
    tellEnded(id)
    if (sessions.size > 0) return
    rest?.()
    rest = undefined
  },
})

port.on('message', (message: ToDoor) => {
  if ('answers' in message) settle(message.answers)
  else if ('take' in message) {
    rest ??= beat(mark)
    sessions.take(message.take, message.socket as Socket)
  } else if ('reload' in message) sessions.reload(createCertificateSet(message.reload))
  else if ('suspect' in message) suspects.add(message.suspect)
  else if ('sendAway' in message) sessions.sendAway(message.sendAway)
  else if ('findWhoGivesWay' in message)
    void sessions.findWhoGivesWay(message.findWhoGivesWay.crowd).then(givesWay => post({ givesWay }))
  else void stop()
})
post({ ready: true })

async function stop(): Promise<void> {
  await sessions.stop()
  close()
  post({ stopped: true })
}
