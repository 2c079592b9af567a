import t from 'tap'
import { createKey, revokeAnyKey } from '../../../lib/core/account/keys.ts'
import { suspendInbox } from '../../../lib/core/account/suspension.ts'
import type { App } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { addSuppression } from '../../../lib/core/outbound/suppressions.ts'
import { addPolicyRule } from '../../../lib/core/policy/rules.ts'
import { type Submission, submit } from '../../../lib/core/submission/submit.ts'
import { beforeWrites } from '../../support/interrupted.ts'
import { openDoor } from '../../support/smtp-door.ts'

interface Submitting {
  readonly app: App
  readonly inboxId: string
  readonly keyId: string
}

/** What may happen between the asking and the write, and what the submission is refused with then. */
const changes: readonly {
  what: string
  happens: (from: Submitting) => Promise<unknown>
  refusal: { code: string | number }
}[] = [
  {
    what: 'the key is revoked',
    happens: ({ app, keyId }) => revokeAnyKey(app, keyId),
    refusal: { code: 535 },
  },
  {
    what: 'the inbox is suspended',
    happens: ({ app, inboxId }) => suspendInbox(app, inboxId, null),
    refusal: { code: 'inbox_suspended' },
  },
  {
    what: 'the recipient is suppressed',
    happens: ({ app }) => addSuppression(app, { recipient: 'bob@theirs.example' }),
    refusal: { code: 'recipient_suppressed' },
  },
  {
    what: 'a rule blocks whom the header names alone',
    happens: ({ app }) =>
      addPolicyRule(app, operator, {}, { type: 'block', value: 'named.example', direction: 'outbound' }),
    refusal: { code: 'recipient_not_permitted' },
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

for (const { what, happens, refusal } of changes)
  t.test(`what is submitted is not sent when, before it is written, ${what}`, async t => {
    const { app, inbox } = await openDoor(t, { toml: '[delivery]\nmode = "capture"' })
    const inboxId = await inbox('ann')
    const { id: keyId } = await createKey(app, operator, { inbox: inboxId }, null)
    const submission: Submission = {
      submitter: { keyId, inboxId, address: 'ann@ours.example' },
      recipients: [{ rcptTo: 'bob@theirs.example', notice: null }],
      content: {
        kind: 'memory',
        bytes: Buffer.from(
          'From: ann@ours.example\r\nTo: bob@theirs.example\r\nReply-To: ann@ours.example\r\nCc: cc@named.example\r\n\r\nHello\r\n',
        ),
      },
      protocol: 'ESMTPSA',
    }
    const late = interrupted(app, () => happens({ app, inboxId, keyId }))
    await t.rejects(submit(late, submission), refusal)
    t.strictSame(await app.store.read.selectFrom('message').select('id').execute(), [])
    t.strictSame(await app.store.read.selectFrom('queueEntry').select('id').execute(), [])
  })
