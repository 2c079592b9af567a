import { apiKeysPerScope, replyLoopMessages } from '../../../lib/base/problem.ts'
import { changeInbox, createInbox } from '../../../lib/core/account/inboxes.ts'
import { createKey } from '../../../lib/core/account/keys.ts'
import type { App } from '../../../lib/core/app/app.ts'
import { type Caller, operator } from '../../../lib/core/app/caller.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { findWebhook } from '../../../lib/store/webhook-deliveries.ts'
import { appOn } from '../../support/app-on.ts'
import { onEveryDatabase } from '../../support/databases.ts'
import { beforeWrites } from '../../support/interrupted.ts'

const key: Caller = { keyId: '01890000-0000-7000-8000-000000000000', podId: null, inboxId: null }

/** Does it 50 times at once; gives how many got through, and the codes of the others. */
async function fiftyAtOnce(work: (index: number) => Promise<unknown>) {
  const all = await Promise.allSettled(Array.from({ length: 50 }, (_, index) => work(index)))
  const refused = all.filter(one => one.status === 'rejected').map(one => one.reason.code ?? one.reason)
  return { through: all.length - refused.length, codes: [...new Set(refused)] }
}

onEveryDatabase('the last inboxes of a plan, and of a day', async (t, store) => {
  const plan = await appOn(t, store, 'plan = "free"\n[plan_free]\ninboxes = 7')
  t.strictSame(await fiftyAtOnce(() => createInbox(plan, key, {})), {
    through: 7,
    codes: ['inbox_limit_reached'],
  })
  const day = await appOn(t, store, '[limits]\ninbox_creations_per_day = 12')
  t.strictSame(await fiftyAtOnce(() => createInbox(day, key, {})), {
    through: 5,
    codes: ['inbox_creation_limit'],
  })
  const account = await store.read.selectFrom('account').select('inboxCount').executeTakeFirstOrThrow()
  t.equal(account.inboxCount, 12, 'without that of postmaster')
})

onEveryDatabase('the last strangers of a day', async (t, store) => {
  const app = await appOn(t, store, 'plan = "free"\n[plan_free]\ncold_recipients_at_first = 10')
  const inbox = (await createInbox(app, operator, {})).id
  // The queue of the App works on its own store; what is put there is not looked at.
  const result = await fiftyAtOnce(index =>
    send(app, key, inbox, { to: `s${index}@example.net`, subject: 's', body: 'b' }, `${index}`),
  )
  t.strictSame(result, { through: 10, codes: ['cold_outreach_limit'] })
  const sent = await store.read.selectFrom('message').select('toAddr').execute()
  const known = await store.read.selectFrom('contact').select('address').execute()
  t.strictSame(known.map(row => row.address).sort(), sent.map(row => row.toAddr).sort())
  t.equal(sent.length, 10)
})

onEveryDatabase('the last messages between two inboxes', async (t, store) => {
  const app = await appOn(t, store, '')
  const inbox = (await createInbox(app, operator, { mailboxName: 'ann' })).id
  const to = (await createInbox(app, operator, { mailboxName: 'bea' })).address
  const { threadId } = await send(app, key, inbox, { to, subject: 's', body: 'b' }, 'first')
  const result = await fiftyAtOnce(index => send(app, key, inbox, { to, threadId, body: 'b' }, `${index}`))
  t.strictSame(result, { through: replyLoopMessages - 1, codes: ['reply_loop'] })
})

onEveryDatabase(
  'a repeat for which the first has left no place gets the answer of the first',
  async (t, store) => {
    const app = await appOn(t, store, '')
    const { id } = await createInbox(app, operator, {})
    const to = (await createInbox(app, operator, {})).address
    const { threadId } = await send(app, key, id, { to, subject: 's', body: 'b' }, 'begin')
    for (let n = 2; n < replyLoopMessages; n++) await send(app, key, id, { to, threadId, body: 'b' }, `${n}`)
    const last = () => send(app, key, id, { to, threadId, body: 'last' }, 'last')
    let first: unknown
    // Another process, whose write comes after that of this one.
    const behind = beforeWrites(store, async () => {
      first ??= await last()
    })
    const other: App = Object.create(app, { store: { value: behind }, underWay: { value: new Map() } })
    const answer = await send(other, key, id, { to, threadId, body: 'last' }, 'last')
    t.strictSame(answer, first)
    await t.rejects(send(other, key, id, { to, threadId, body: 'more' }, 'more'), { code: 'reply_loop' })
  },
)

onEveryDatabase('the last keys of a pod, and of an inbox', async (t, store) => {
  const app = await appOn(t, store, '')
  const pod = await store.read.selectFrom('pod').select('id').executeTakeFirstOrThrow()
  const result = await fiftyAtOnce(() => createKey(app, operator, { pod: pod.id }, null))
  t.strictSame(result, { through: apiKeysPerScope, codes: ['api_key_limit_reached'] })
  const inbox = (await createInbox(app, operator, {})).id
  const ofInbox = await fiftyAtOnce(() => createKey(app, operator, { inbox }, null))
  t.strictSame(ofInbox, { through: apiKeysPerScope, codes: ['api_key_limit_reached'] })
})

onEveryDatabase('the first URL of a webhook', async (t, store) => {
  const app = await appOn(t, store, '')
  const { id } = await createInbox(app, operator, {})
  const url = (index: number) => `https://h${index}.example.net/`
  const made = await Promise.all(
    Array.from({ length: 50 }, (_, index) => changeInbox(app, key, id, { webhookUrl: url(index) })),
  )
  const secrets = made.flatMap(one => one.webhookSecret ?? [])
  t.equal(secrets.length, 1, 'one secret is made, and told to one')
  const webhook = await findWebhook(store.read, id)
  t.equal(webhook && app.secrets.open(webhook.place, webhook.secret), secrets[0])
})
