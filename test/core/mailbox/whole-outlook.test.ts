import t from 'tap'
import { replyClasses } from '../../../lib/base/reply.ts'
import { outlookOf } from '../../../lib/core/mailbox/outlook.ts'
import type { DeliveryRow, DestinationRow, QueueEntryRow } from '../../../lib/store/tables.ts'
import { type Facts, sameFacts } from '../../support/kept-facts.ts'

const at = (minute: number) => `2026-01-02T03:0${minute}:00.000Z`
const now = at(3)

const delivery: DeliveryRow = {
  id: 'd',
  messageId: 'm',
  recipient: 'bob@there.example',
  state: 'deferred',
  captured: 0,
  attempts: 1,
  replyCode: null,
  replyEnhanced: null,
  replyText: null,
  remoteHost: null,
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
}
const entry: QueueEntryRow = {
  id: 'q',
  kind: 'delivery',
  subjectId: 'd',
  destination: 'there.example',
  lane: 'slow',
  isKnown: 1,
  turn: 0,
  dueAt: at(5),
  expiresAt: at(9),
  attempts: 1,
  leasedBy: null,
  leasedUntil: null,
  createdAt: at(0),
  podId: 'p',
  inboxId: 'i',
  cutOffs: 0,
}
const destination: DestinationRow = {
  name: 'there.example',
  failures: 4,
  failingSince: at(0),
  lastFailure: "of another's mail",
  retryAt: at(6),
  updatedAt: at(1),
}

const states: Readonly<Record<string, Partial<DeliveryRow>>> = {
  queued: { state: 'queued', attempts: 0 },
  deferred: { state: 'deferred', attempts: 2 },
  delivered: { state: 'delivered' },
  failed: { state: 'failed' },
  cancelled: { state: 'cancelled' },
  'held by its inbox': { state: 'held' },
  'held by the operator': { state: 'held', heldBy: 'operator' },
  captured: { state: 'delivered', captured: 1 },
}

const replies: Readonly<Record<string, Partial<DeliveryRow>>> = {
  'nothing said': {},
  'a host that said nothing': { remoteHost: 'mx.there.example' },
  'said by nobody known': { replyText: 'Connection refused.' },
  'said by a host': { replyText: '4.2.0 later.. ', remoteHost: 'mx.there.example' },
  'an empty reply': { replyText: '', remoteHost: 'mx.there.example' },
  'a class that is not known': { replyText: 'no.', remoteHost: 'mx.there.example', replyClass: 'other' },
  ...Object.fromEntries(
    replyClasses.map(replyClass => [
      replyClass,
      { replyText: 'no.', remoteHost: 'mx.there.example', replyClass },
    ]),
  ),
}

type Queued = readonly [entry: Partial<QueueEntryRow> | undefined, destination?: Partial<DestinationRow>]

const places: Readonly<Record<string, Queued>> = {
  'no entry': [undefined],
  'due later': [{}],
  'due now': [{ dueAt: now }],
  'due before': [{ dueAt: at(2) }],
  'due a millisecond later': [{ dueAt: '2026-01-02T03:03:00.001Z' }],
  'due just before its end': [{ dueAt: '2026-01-02T03:08:59.999Z' }],
  'due at its end': [{ dueAt: at(9) }],
  'under way': [{ leasedBy: 'node', leasedUntil: at(4) }],
  'under way at a destination that fails': [{ leasedBy: 'node', leasedUntil: at(4), dueAt: at(6) }, {}],
  'due with its destination': [{ dueAt: at(6) }, {}],
  'due with its destination, which could not be tried': [{ dueAt: at(6) }, { failures: 0 }],
  'due later than its destination': [{ dueAt: at(7) }, {}],
  'cut off once': [{ cutOffs: 1 }],
  'cut off, due now': [{ cutOffs: 3, dueAt: at(1) }],
}

/** The sentence for each of `which`, by its name. */
function outlooks(which: Readonly<Record<string, Partial<DeliveryRow>>>, [queued, known]: Queued) {
  const ofOne = (one: Partial<DeliveryRow>) =>
    outlookOf({
      delivery: { ...delivery, ...one },
      entry: queued && { ...entry, ...queued },
      destination: known && { ...destination, ...known },
      now,
    })
  return Object.fromEntries(Object.entries(which).map(([name, one]) => [name, ofOne(one)]))
}

t.test('the whole sentence for each state, place in the queue and reply', async t => {
  const all: Facts[] = []
  for (const [state, one] of Object.entries(states)) {
    const replied = Object.entries(replies).map(([name, reply]) => [name, { ...one, ...reply }] as const)
    all.push([`${state}, no entry`, outlooks(Object.fromEntries(replied), places['no entry']!)])
    all.push([`${state}, due later`, outlooks(Object.fromEntries(replied), places['due later']!)])
  }
  for (const [place, queued] of Object.entries(places))
    all.push([`in the queue: ${place}`, outlooks(states, queued)])
  sameFacts(t, 'outlooks', all)
})
