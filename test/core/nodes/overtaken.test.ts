import t from 'tap'
import { createInbox, deleteInbox } from '../../../lib/core/account/inboxes.ts'
import { createKey, revokeAnyKey } from '../../../lib/core/account/keys.ts'
import { createPod, deletePod } from '../../../lib/core/account/pods.ts'
import type { App, Networked } from '../../../lib/core/app/app.ts'
import { type Caller, operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { addSuppression } from '../../../lib/core/outbound/suppressions.ts'
import { addPolicyRule, changePolicyMode } from '../../../lib/core/policy/rules.ts'
import { submit } from '../../../lib/core/submission/submit.ts'
import { claim } from '../../support/claim.ts'
import { without } from '../../support/peers.ts'
import { attempt, contradictions, meet, outcomeOf, overtake, twoNodes } from '../../support/two-nodes.ts'

const skip = without('postgres')
const to = 'bob@theirs.example'
const key: Caller = { keyId: '01890000-0000-7000-8000-000000000000', podId: null, inboxId: null }

interface Sender {
  readonly inbox: { readonly id: string; readonly address: string }
  readonly keyId: string
}

async function senderOn(app: App): Promise<Sender> {
  const inbox = await createInbox(app, operator, {})
  return { inbox, keyId: (await createKey(app, operator, { inbox: inbox.id }, null)).id }
}

type Sending = (from: Sender) => (app: App) => Promise<unknown>
let sends = 0
const sent: Sending =
  ({ inbox }) =>
  app =>
    send(app, key, inbox.id, { to, subject: 's', body: 'b' }, `key ${++sends}`)
const submitted: Sending =
  ({ inbox: { id: inboxId, address }, keyId }) =>
  app =>
    submit(app, {
      submitter: { keyId, inboxId, address },
      recipients: [{ rcptTo: to, notice: null }],
      content: { kind: 'memory', bytes: Buffer.from(`From: ${address}\r\nTo: ${to}\r\n\r\nHello\r\n`) },
      protocol: 'ESMTPSA',
    })

/** What stops a send, and what it is refused with then. */
interface Stop {
  readonly what: string
  readonly sending: Sending
  readonly change: (from: Sender) => (app: App) => Promise<unknown>
  readonly code: string | number
}
const stops: readonly Stop[] = [
  {
    what: 'the key of a submission is revoked',
    sending: submitted,
    change:
      ({ keyId }) =>
      app =>
        revokeAnyKey(app, keyId),
    code: 535,
  },
  ...[sent, submitted].flatMap((sending): Stop[] => [
    {
      what: 'a rule blocks the recipient',
      sending,
      change:
        ({ inbox }) =>
        app =>
          addPolicyRule(
            app,
            operator,
            { inbox: inbox.id },
            { type: 'block', value: 'theirs.example', direction: 'outbound' },
          ),
      code: 'recipient_not_permitted',
    },
    {
      what: 'an allowlist does not have the recipient',
      sending,
      change:
        ({ inbox }) =>
        app =>
          changePolicyMode(app, operator, { inbox: inbox.id }, { mode: 'allowlist', direction: 'outbound' }),
      code: 'recipient_not_permitted',
    },
  ]),
  {
    what: 'the recipient is suppressed',
    sending: sent,
    change: () => app => addSuppression(app, { recipient: to }),
    code: 'recipient_suppressed',
  },
]

const messagesOf = ({ store }: App, { inbox }: Sender) =>
  store.read.selectFrom('message').select('id').where('inboxId', '=', inbox.id).execute()

t.test('what is committed before a send has its inbox stops it', { skip }, async t => {
  const nodes = await twoNodes(t)
  const [app] = nodes
  for (const { what, sending, change, code } of stops) {
    const from = await senderOn(app)
    const said = await overtake(nodes, from.inbox.id, sending(from), change(from))
    t.equal(said, code, `${what}: ${sending === sent ? 'sent' : 'submitted'}`)
    t.strictSame(await messagesOf(app, from), [], 'nothing is there')
    await app.store.write(db => db.deleteFrom('suppression').execute())
  }
  t.strictSame(await contradictions(app), [])
})

t.test('what comes while a send is written stops the next one, and no more', { skip }, async t => {
  const nodes = await twoNodes(t)
  const [app] = nodes
  for (const { what, sending, change, code } of stops) {
    const from = await senderOn(app)
    const [one, two] = await meet(nodes, sending(from), change(from))
    for (const said of [one, two]) t.not(said, code, what)
    t.equal((await messagesOf(app, from)).length, 1, `${what}: it is sent`)
    t.equal(await outcomeOf(sending(from)(app)), code, `${what}: the next one is not`)
    await app.store.write(db => db.deleteFrom('suppression').execute())
  }
  t.strictSame(await contradictions(app), [])
})

t.test('what waits for who is suppressed meanwhile is not carried', { skip }, async t => {
  const nodes = await twoNodes(t)
  const [app] = nodes
  const from = await senderOn(app)
  await meet(nodes, sent(from), app => addSuppression(app, { recipient: to }))
  const [entry] = await claim(app.queue, 'delivery')
  await deliver(app as Networked, entry!, attempt)
  const row = await app.store.read.selectFrom('delivery').selectAll().executeTakeFirstOrThrow()
  t.match(row, { state: 'failed', captured: 0, replyText: /suppression list/ })
})

t.test('an inbox that is deleted, and what is sent from it', { skip }, async t => {
  const nodes = await twoNodes(t)
  const [app] = nodes
  for (const sending of [sent, submitted]) {
    const first = await senderOn(app)
    const remove = (from: Sender) => (app: App) => deleteInbox(app, operator, from.inbox.id)
    const [, refused] = await meet(nodes, remove(first), sending(first))
    t.ok(refused === 'not_found' || refused === 535, `deleted before: ${refused}`)
    t.strictSame(await messagesOf(app, first), [])
    const second = await senderOn(app)
    await meet(nodes, sending(second), remove(second))
    t.equal((await messagesOf(app, second)).length, 1, 'sent before')
  }
  t.strictSame(await contradictions(app), [])
})

t.test('a pod that is deleted, and what is made in it', { skip }, async t => {
  const nodes = await twoNodes(t)
  const [app] = nodes
  const makes = [
    (pod: string) => (app: App) => createInbox(app, { ...key, podId: pod }, {}),
    (pod: string) => (app: App) => createKey(app, operator, { pod }, null),
  ]
  for (const [index, make] of makes.entries())
    for (const isFirst of [true, false]) {
      const { id } = await createPod(app, {})
      const remove = (app: App) => deletePod(app, operator, id)
      const [one, two] = isFirst
        ? await meet(nodes, remove, make(id))
        : (await meet(nodes, make(id), remove)).toReversed()
      const isThere = await app.store.read
        .selectFrom('pod')
        .select('id')
        .where('id', '=', id)
        .executeTakeFirst()
      const inboxes = await app.store.read.selectFrom('inbox').select('id').where('podId', '=', id).execute()
      const keys = await app.store.read
        .selectFrom('apiKey')
        .select('id')
        .where('podId', '=', id)
        .where('revokedAt', 'is', null)
        .execute()
      if (isThere) t.strictSame([one, inboxes.length], ['pod_not_empty', 1])
      else t.strictSame([one, inboxes, keys], [undefined, [], []], String(two))
      t.equal(isThere !== undefined, index === 0 && !isFirst, 'who was first has it')
      if (isFirst) t.equal(two, 'not_found')
    }
  t.strictSame(await contradictions(app), [])
})

t.test('the last inbox of a plan', { skip }, async t => {
  const nodes = await twoNodes(t, 'plan = "free"\n[plan_free]\ninboxes = 2')
  const [app] = nodes
  const make = (app: App) => createInbox(app, key, {})
  await make(app)
  const [one, two] = await meet(nodes, make, make)
  t.match(one, { id: /./ })
  t.equal(two, 'inbox_limit_reached')
  t.strictSame(await contradictions(app), [])
})
