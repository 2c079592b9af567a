import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { v7 } from 'uuid'
import { createInbox, deleteInbox } from '../../../lib/core/account/inboxes.ts'
import { suspendInbox } from '../../../lib/core/account/suspension.ts'
import type { App } from '../../../lib/core/app/app.ts'
import { type Caller, operator } from '../../../lib/core/app/caller.ts'
import { holdDomain } from '../../../lib/core/domains/domains.ts'
import { createDraft, getDraft } from '../../../lib/core/drafts/drafts.ts'
import { sendDraft, sendScheduledDraft } from '../../../lib/core/drafts/send.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { addSuppression } from '../../../lib/core/outbound/suppressions.ts'
import { addPolicyRule, changePolicyMode } from '../../../lib/core/policy/rules.ts'
import { createQueue } from '../../../lib/queue/queue.ts'
import { appOn } from '../../support/app-on.ts'
import { claim } from '../../support/claim.ts'
import { onEveryDatabase } from '../../support/databases.ts'
import { beforeWrites } from '../../support/interrupted.ts'
import { membersOf } from '../../support/members.ts'
import { addVerifiedDomain } from '../../support/verified-domain.ts'

const key: Caller = { keyId: v7(), podId: null, inboxId: null }
const to = 'bob@theirs.example'

interface Sender {
  readonly app: App
  readonly inbox: { readonly id: string; readonly address: string }
  readonly replyTo: { readonly id: string; readonly address: string }
}

/** What may happen between the asking and the write, and what the send is refused with then. */
const changes: readonly { what: string; happens: (sender: Sender) => Promise<unknown>; code: string }[] = [
  {
    what: 'suspension',
    happens: ({ app, inbox }) => suspendInbox(app, inbox.id, null),
    code: 'inbox_suspended',
  },
  { what: 'deletion', happens: ({ app, inbox }) => deleteInbox(app, operator, inbox.id), code: 'not_found' },
  {
    what: 'review of the domain',
    happens: ({ app }) => holdDomain(app, 'acme.example'),
    code: 'domain_under_review',
  },
  {
    what: 'failing of the domain',
    happens: ({ app }) =>
      app.store.write(db =>
        db.updateTable('domain').set({ status: 'failed' }).where('domain', '=', 'acme.example').execute(),
      ),
    code: 'unverified_domain',
  },
  {
    what: 'suppression',
    happens: ({ app }) => addSuppression(app, { recipient: to }),
    code: 'recipient_suppressed',
  },
  {
    what: 'a rule that blocks',
    happens: ({ app }) =>
      addPolicyRule(app, operator, {}, { type: 'block', value: 'theirs.example', direction: 'outbound' }),
    code: 'recipient_not_permitted',
  },
  {
    what: 'an allowlist',
    happens: ({ app, inbox }) =>
      changePolicyMode(app, operator, { inbox: inbox.id }, { mode: 'allowlist', direction: 'outbound' }),
    code: 'recipient_not_permitted',
  },
  {
    what: 'the end of the Reply-To that the plan allows',
    happens: ({ app, replyTo }) => deleteInbox(app, operator, replyTo.id),
    code: 'feature_requires_paid_plan',
  },
]

/** An app in which `happens` comes to be right before the next write, as if another process had written it. */
function interrupted(app: App, happens: () => Promise<unknown>): App {
  let isDone = false
  const store = beforeWrites(app.store, async () => {
    if (isDone) return
    isDone = true
    await happens()
  })
  return Object.create(app, { store: { value: store } })
}

async function setUp(app: App): Promise<Sender> {
  await addVerifiedDomain(app, 'acme.example')
  await app.store.write(async db => {
    await db.updateTable('domain').set({ status: 'verified' }).where('domain', '=', 'acme.example').execute()
    for (const table of ['suppression', 'policyRule', 'policyMode', 'policyAudit'] as const)
      await db.deleteFrom(table).execute()
  })
  const inbox = await createInbox(app, operator, { domain: 'acme.example' })
  return { app, inbox, replyTo: await createInbox(app, operator, {}) }
}

onEveryDatabase('what changes between the asking and the write is heeded', async (t, store) => {
  const plain = await appOn(t, store, 'plan = "free"\n[plan_free]\ninboxes = 0')
  const queue = createQueue({
    store,
    clock: plain.clock,
    ids: plain.ids,
    members: membersOf('n'),
    random: () => 0.5,
  })
  const app: App = Object.create(plain, { queue: { value: queue } })
  for (const { what, happens, code } of changes) {
    for (const way of ['send', 'draft', 'scheduled'] as const) {
      const sender = await setUp(app)
      const { id } = sender.inbox
      const letter = { to, subject: 's', body: 'b', replyTo: sender.replyTo.address }
      const late = interrupted(app, () => happens(sender))
      if (way === 'send') {
        await t.rejects(send(late, key, id, letter, v7()), { code }, `${what}: ${way}`)
      } else if (way === 'draft') {
        const draft = await createDraft(app, key, id, letter)
        await t.rejects(sendDraft(late, key, draft.id, v7()), { code }, `${what}: ${way}`)
      } else {
        const sendAt = new Date(app.clock.now().getTime() + 500).toISOString()
        const draft = await createDraft(app, key, id, { ...letter, sendAt })
        await app.store.write(db =>
          db.updateTable('queueEntry').set({ dueAt: '2026-01-01T00:00:00.000Z' }).execute(),
        )
        const entry = (await claim(queue, 'draft', 10)).find(one => one.subjectId === draft.id)
        await sendScheduledDraft(late, entry!)
        if (code !== 'not_found') {
          t.match(
            await getDraft(app, key, draft.id),
            { status: 'open', lastError: Object },
            `${what}: ${way}`,
          )
        }
      }
      const sent = await store.read.selectFrom('message').select('id').where('inboxId', '=', id).execute()
      t.strictSame(sent, [], `${what}: nothing was sent by ${way}`)
      const used = await store.read.selectFrom('usage').select('count').where('subject', '=', id).execute()
      t.strictSame(used, [], `${what}: nothing was counted`)
      const audit = await store.read
        .selectFrom('policyAudit')
        .selectAll()
        .where('action', '=', 'refused')
        .where('inboxId', '=', id)
        .execute()
      const isRule = code === 'recipient_not_permitted'
      t.strictSame(
        audit.map(row => row.address),
        isRule ? [to] : [],
        `${what}: the refusal stands in the audit`,
      )
    }
  }
})

onEveryDatabase('of a large message that is refused in the write no file stays', async (t, store) => {
  const app = await appOn(t, store, '')
  const { id } = await createInbox(app, operator, {})
  const attachments = [{ filename: 'a', content: Buffer.alloc(400_000, 'x').toString('base64') }]
  const letter = { to, subject: 's', body: 'b', attachments }
  const files = () =>
    readdirSync(join(app.config.data_dir, 'raw'), { recursive: true, withFileTypes: true }).filter(one =>
      one.isFile(),
    )
  await send(app, key, id, letter, v7())
  t.equal(files().length, 1)
  const late = interrupted(app, () => suspendInbox(app, id, null))
  await t.rejects(send(late, key, id, letter, v7()), { code: 'inbox_suspended' })
  t.equal(files().length, 1, 'that of the message which was sent')
})

onEveryDatabase('a suspension and sends at once: what is sent was sent before', async (t, store) => {
  const app = await appOn(t, store, '')
  const { id } = await createInbox(app, operator, {})
  const sends = Array.from({ length: 30 }, (_, index) =>
    send(app, key, id, { to: `x${index}@theirs.example`, subject: 's', body: 'b' }, `${index}`).then(
      () => 'sent',
      error => error.code,
    ),
  )
  const [results] = await Promise.all([Promise.all(sends), suspendInbox(app, id, null)])
  const rows = await store.read.selectFrom('message').select('id').where('inboxId', '=', id).execute()
  t.equal(rows.length, results.filter(one => one === 'sent').length)
  t.ok(results.every(one => one === 'sent' || one === 'inbox_suspended'))
  await t.rejects(send(app, key, id, { to, subject: 's', body: 'b' }, 'late'), { code: 'inbox_suspended' })
})
