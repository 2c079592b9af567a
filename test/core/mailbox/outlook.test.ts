import t from 'tap'
import { outlookOf } from '../../../lib/core/mailbox/outlook.ts'
import type { DeliveryRow, DestinationRow, QueueEntryRow } from '../../../lib/store/tables.ts'

const at = (minute: number) => `2026-01-02T03:0${minute}:00.000Z`
const delivery: DeliveryRow = {
  ...{ id: 'd', messageId: 'm', recipient: 'bob@there.example', state: 'deferred', captured: 0, attempts: 1 },
  ...{ replyCode: 450, replyEnhanced: '4.2.0', replyText: 'later', remoteHost: 'mx.there.example' },
  ...{
    nextAttemptAt: at(5),
    createdAt: at(0),
    updatedAt: at(1),
    purpose: 'send',
    mailFrom: null,
    heldBy: null,
    rcptTo: null,
    replyClass: null,
    notify: null,
    noticeAt: null,
  },
}
const entry: QueueEntryRow = {
  ...{ id: 'q', kind: 'delivery', subjectId: 'd', destination: 'mx.there.example', lane: 'slow' },
  ...{ dueAt: at(5), expiresAt: at(9), attempts: 1, leasedBy: null, leasedUntil: null, createdAt: at(0) },
  ...{ podId: 'p', inboxId: 'i', cutOffs: 0, isKnown: 1, turn: 0 },
}
const failing: DestinationRow = {
  ...{ name: 'mx.there.example', failures: 4, failingSince: at(0) },
  ...{ lastFailure: 'of somebody else', retryAt: at(6), updatedAt: at(1) },
}

t.test('what happens to a delivery, and when next', async t => {
  const said = (
    one: Partial<DeliveryRow>,
    queued: Partial<QueueEntryRow> | undefined = undefined,
    destination?: DestinationRow,
  ) =>
    outlookOf({
      delivery: { ...delivery, ...one },
      entry: queued && { ...entry, ...queued },
      destination,
      now: at(2),
    })
  const last = `; the last one ended with "later" of mx.there.example; given up at ${at(9)}.`
  t.equal(said({ state: 'delivered' }), `Taken by mx.there.example at ${at(1)}.`)
  t.match(said({ state: 'delivered', captured: 1 }), /^Kept on this machine/)
  t.equal(said({ state: 'failed', replyText: 'no such user.' }), `Failed for good at ${at(1)}: no such user.`)
  t.match(said({ state: 'held' }, { lane: 'held' }), /^Held because its inbox is suspended/)
  t.equal(said({ state: 'cancelled', replyText: null }), `Cancelled by the operator at ${at(1)}.`)
  t.match(said({ state: 'held', heldBy: 'operator' }), /^Held by the operator/)
  t.equal(said({}, {}), `Attempt 2 is due at ${at(5)}${last}`)
  t.equal(said({}, { dueAt: at(1) }), `Is due now and waits for its turn${last}`)
  t.equal(said({}, { dueAt: at(9) }), `No further attempt is due before its time is over${last}`)
  t.equal(said({}, { leasedBy: 'n' }), `Attempt 2 is under way${last}`)
  t.equal(
    said({ attempts: 0, replyText: null, state: 'queued' }, { cutOffs: 2, attempts: 2 }),
    `Attempt 1 is due at ${at(5)}, after 2 that a crash or a stop cut off; given up at ${at(9)}.`,
  )
  const waiting = said({}, { dueAt: at(6) }, failing)
  t.equal(
    waiting,
    `Waits for mx.there.example, which has failed 4 times in a row since ${at(0)}; next try at ${at(6)}${last}`,
  )
  t.notMatch(waiting, /somebody else/, "what was said of another's mail is not told")
  t.equal(said({}, { dueAt: at(7) }, failing), `Attempt 2 is due at ${at(7)}${last}`)
  const untried = { ...failing, failures: 0 }
  t.match(
    said({}, { dueAt: at(6) }, untried),
    /^Waits for mx\.there\.example, which could not be tried; next try at /,
  )
  const silent = { ...untried, lastFailure: 'the DNS resolver of this server does not answer' }
  t.match(
    said({}, { dueAt: at(6) }, silent),
    /^Waits untried, because the DNS resolver of this server does not answer; next try at /,
  )
})
