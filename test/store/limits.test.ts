import { v7 } from 'uuid'
import { Problem } from '../../lib/base/problem.ts'
import { deleteContacts, findContacts, putContacts } from '../../lib/store/contacts.ts'
import type { Store } from '../../lib/store/open.ts'
import {
  deletePolicy,
  findPolicy,
  insertPolicyRule,
  listPolicyModes,
  setPolicyMode,
} from '../../lib/store/policy.ts'
import { deletePolicyAuditBefore, insertPolicyAudit, listPolicyAudit } from '../../lib/store/policy-audit.ts'
import {
  deleteExpiredSuppressions,
  deletePodSuppressions,
  deleteSuppression,
  everyPod,
  findSuppression,
  listSuppressions,
  putSuppression,
} from '../../lib/store/suppressions.ts'
import { addUsage, deleteUsageBefore, findUsage, sumUsage } from '../../lib/store/usage.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { insertInboxRow, insertInstallation } from '../support/rows.ts'

const everything = { limit: 100, offset: 0 }
const at = (second: number) => new Date(Date.UTC(2026, 0, 2, 3, 4, second)).toISOString()

onEveryDatabase('rules and modes of scopes', async (t, store) => {
  const rule = (scope: string, value: string, direction = 'inbound') => ({
    id: v7(),
    scope,
    direction,
    type: 'block',
    value,
    createdAt: at(0),
    setBy: 'account' as const,
  })
  await store.write(async db => {
    await setPolicyMode(db, { scope: 'account', direction: 'inbound', mode: 'allowlist', setBy: 'account' })
    await setPolicyMode(db, { scope: 'account', direction: 'inbound', mode: 'none', setBy: 'account' })
    for (const one of [rule('account', 'x'), rule('p', 'x'), rule('p', 'y'), rule('p', 'x', 'outbound')]) {
      await insertPolicyRule(db, one)
    }
  })
  t.match(await listPolicyModes(store.read, ['account', 'p']), [{ mode: 'none' }])
  const { rules: found, modes } = await findPolicy(store.read, ['account', 'p', 'i'], 'inbound', ['x', 'z'])
  t.match(modes, [{ scope: 'account', mode: 'none' }])
  t.strictSame(found.map(row => row.scope).sort(), ['account', 'p'])
  await t.rejects(store.write(db => insertPolicyRule(db, rule('p', 'x'))))
  await store.write(db => deletePolicy(db, 'p'))
  t.equal((await findPolicy(store.read, ['account', 'p'], 'inbound', ['x'])).rules.length, 1)
})

onEveryDatabase('the audit by scope and time', async (t, store) => {
  await store.write(async db => {
    for (const [second, podId, inboxId] of [
      [1, null, null],
      [2, 'p', null],
      [3, 'p', 'i'],
      [4, 'q', 'j'],
    ] as const) {
      await insertPolicyAudit(db, {
        id: v7(),
        podId,
        inboxId,
        action: second % 2 ? 'refused' : 'rule_added',
        direction: 'inbound',
        mode: null,
        type: null,
        value: null,
        ruleId: null,
        address: null,
        reason: null,
        keyId: null,
        createdAt: at(second),
      })
    }
  })
  const seconds = async (podId: string | null, inboxId: string | null, filter = {}, page = everything) => {
    const { rows, total } = await listPolicyAudit(store.read, { podId, inboxId }, filter, page)
    return [total, ...rows.map(row => new Date(row.createdAt).getUTCSeconds())]
  }
  t.strictSame(await seconds(null, null), [4, 4, 3, 2, 1])
  t.strictSame(await seconds(null, null, {}, { limit: 1, offset: 2 }), [4, 2])
  t.strictSame(await seconds('p', null), [2, 3, 2])
  t.strictSame(await seconds('p', 'i'), [1, 3])
  t.strictSame(await seconds(null, null, { action: 'refused', until: at(3) }), [1, 1])
  t.strictSame(await seconds(null, null, { since: at(3), direction: 'inbound' }), [2, 4, 3])
  t.equal(await store.write(db => deletePolicyAuditBefore(db, at(4), 2)), 2)
  t.strictSame(await seconds(null, null), [2, 4, 3])
})

onEveryDatabase('suppressions', async (t, store) => {
  const row = (
    recipient: string,
    second: number,
    expiresAt: string | null = null,
    reason = 'bounce',
    podId = everyPod,
  ) => ({
    recipient,
    podId,
    reason,
    evidence: null,
    messageId: null,
    createdAt: at(second),
    expiresAt,
  })
  await store.write(async db => {
    await putSuppression(db, row('a@x', 1))
    await putSuppression(db, row('b@x', 2, at(10)))
    await putSuppression(db, row('a@x', 3, null, 'manual'))
  })
  t.match(await findSuppression(store.read, ['c@x', 'b@x'], { podId: 'p', now: at(9) }), { recipient: 'b@x' })
  t.equal(await findSuppression(store.read, ['c@x', 'b@x'], { podId: 'p', now: at(10) }), undefined)
  const list = async (reason: string | undefined, now: string) => {
    const { rows, total } = await listSuppressions(store.read, { reason, now }, everything)
    return [total, ...rows.map(one => one.recipient)]
  }
  t.strictSame(await list(undefined, at(9)), [2, 'a@x', 'b@x'])
  t.strictSame(await list(undefined, at(10)), [1, 'a@x'])
  t.strictSame(await list('bounce', at(9)), [1, 'b@x'])
  t.equal(await store.write(db => deleteSuppression(db, 'a@x', { reason: 'bounce' })), false)
  t.equal(await store.write(db => deleteSuppression(db, 'a@x')), true)
  t.equal(await store.write(db => deleteExpiredSuppressions(db, at(9), 10)), 0)
  t.equal(await store.write(db => deleteExpiredSuppressions(db, at(10), 10)), 1)
  t.strictSame(await list(undefined, at(0)), [0])

  await store.write(async db => {
    await putSuppression(db, row('a@x', 1, at(10), 'bounce', everyPod))
    await putSuppression(db, row('a@x', 2, null, 'complaint', 'p'))
    await putSuppression(db, row('b@x', 3, null, 'complaint', 'p'))
    await putSuppression(db, row('b@x', 4, at(10), 'bounce', 'q'))
  })
  const found = async (recipient: string, podId: string, now = at(9)) =>
    (await findSuppression(store.read, [recipient], { podId, now }))?.podId
  t.equal(await found('a@x', 'p'), 'p', 'what holds longest')
  t.strictSame([await found('a@x', 'q'), await found('a@x', everyPod)], [everyPod, everyPod])
  t.equal(await found('b@x', everyPod), undefined, 'for one pod alone')
  t.strictSame(await list(undefined, at(9)), [4, 'b@x', 'b@x', 'a@x', 'a@x'])
  t.equal(await store.write(db => deleteSuppression(db, 'a@x', { podId: 'q' })), false)
  t.equal(await store.write(db => deleteExpiredSuppressions(db, at(10), 10)), 2)
  t.strictSame(
    await list(undefined, at(0)),
    [2, 'b@x', 'a@x'],
    'who shares an address with one that is over stays',
  )
  await store.write(db => deletePodSuppressions(db, 'p'))
  t.strictSame(await list(undefined, at(0)), [0])
})

onEveryDatabase('acquaintances', async (t, store) => {
  const { pod, inbox } = await store.write(insertInstallation)
  const other = await store.write(db => insertInboxRow(db, pod.id, 'other@example.com'))
  await store.write(async db => {
    await putContacts(db, inbox.id, ['a@x', 'b@x'], at(0))
    await putContacts(db, inbox.id, ['b@x', 'c@x'], at(1))
    await putContacts(db, other.id, ['d@x'], at(1))
  })
  t.strictSame((await findContacts(store.read, inbox.id, ['b@x', 'c@x', 'd@x'])).sort(), ['b@x', 'c@x'])
  t.equal(await store.write(db => deleteContacts(db, inbox.id, 2)), 2)
  t.equal(await store.write(db => deleteContacts(db, inbox.id, 2)), 1)
  t.strictSame(await findContacts(store.read, other.id, ['d@x']), ['d@x'])
})

/** As the rules in core do it: count in the write, and throw when it was too much. */
async function take(store: Store, limit: number): Promise<boolean> {
  const place = { subject: 'account', kind: 'inboxes', period: '2026-01-02', count: 1 }
  try {
    await store.write(async db => {
      if ((await addUsage(db, place)) > limit) throw new Problem('inbox_creation_limit')
    })
    return true
  } catch (error) {
    if (error instanceof Problem) return false
    throw error
  }
}

onEveryDatabase('counts: 50 at once for the last places', async (t, store) => {
  for (let taken = 0; taken < 5; taken++) await take(store, 10)
  const results = await Promise.all(Array.from({ length: 50 }, () => take(store, 10)))
  t.equal(results.filter(Boolean).length, 5)
  t.equal(
    await findUsage(store.read, 'account', 'inboxes', '2026-01-02'),
    10,
    'the refused ones do not count',
  )
  await store.write(async db => {
    for (const [subject, period] of [
      ['i', '2026-01'],
      ['j', '2026-01'],
      ['i', '2025-11'],
    ] as const) {
      await addUsage(db, { subject, kind: 'messages', period, count: 3 })
    }
  })
  t.equal(await sumUsage(store.read, 'messages', '2026-01'), 6)
  t.equal(await sumUsage(store.read, 'messages', '2026-02'), 0)
  t.equal(await store.write(db => deleteUsageBefore(db, 'messages', '2025-12-31', 10)), 1)
  t.equal(await sumUsage(store.read, 'messages', '2026-01'), 6)
})
