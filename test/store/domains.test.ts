import { v7 } from 'uuid'
import { isTaken, takeClaim } from '../../lib/core/domains/claim.ts'
import type { WriteDb } from '../../lib/store/dialect/dialect.ts'
import * as domains from '../../lib/store/domains.ts'
import { deleteInbox } from '../../lib/store/inboxes.ts'
import type { DomainRow } from '../../lib/store/tables.ts'
import { onEveryDatabase } from '../support/databases.ts'
import { insertInboxRow, insertInstallation, insertPodRow, sealedText } from '../support/rows.ts'

const at = '2026-01-02T03:04:05.678Z'

async function insert(db: WriteDb, domain: string, changes: Partial<DomainRow> = {}): Promise<DomainRow> {
  const row: DomainRow = {
    id: v7(),
    domain,
    podId: null,
    selector: 's',
    dkimPrivateKey: sealedText('k'),
    dkimPublicKey: 'p',
    dkimSince: at,
    createdAt: at,
    status: 'pending',
    recordStatuses: '{}',
    warnings: '[]',
    losses: 0,
    verifiedAt: null,
    updatedAt: at,
    checkedAt: null,
    checkingSince: at,
    checkingUntil: null,
    nextCheckAt: null,
    problem: null,
    found: '{}',
    ...changes,
  }
  await domains.insertDomain(db, row)
  return row
}

onEveryDatabase('domains are listed, changed, due and deleted', async (t, store) => {
  await store.write(async db => {
    const { pod } = await insertInstallation(db)
    const a = await insert(db, 'a.example', { nextCheckAt: '2026-01-02T00:00:00.000Z' })
    const b = await insert(db, 'b.example', { nextCheckAt: '2026-01-01T00:00:00.000Z', podId: pod.id })
    await insert(db, 'c.example')
    const names = async (podId: string | null, except: string | null, limit = 10) => {
      const { rows, total } = await domains.listDomains(db, { podId, except }, { limit, offset: 0 })
      return [total, ...rows.map(row => row.domain)]
    }
    t.strictSame(await names(null, null), [3, 'c.example', 'b.example', 'a.example'])
    t.strictSame(await names(null, 'c.example', 1), [2, 'b.example'])
    t.strictSame(await names(pod.id, null), [1, 'b.example'])
    t.equal(await domains.hasPodDomains(db, pod.id), true)
    const due = async (now: string, limit = 10) =>
      (await domains.listDueDomains(db, now, limit)).map(row => row.domain)
    t.strictSame(await due('2026-01-03T00:00:00.000Z'), ['b.example', 'a.example'])
    t.strictSame(await due('2026-01-03T00:00:00.000Z', 1), ['b.example'])
    t.strictSame(await due('2026-01-01T00:00:00.000Z'), ['b.example'])
    await domains.updateDomain(db, a.id, { status: 'verified', nextCheckAt: null })
    t.strictSame(await domains.findDomainById(db, a.id), { ...a, status: 'verified', nextCheckAt: null })
    await domains.deleteDomain(db, b.id)
    t.equal(await domains.findDomain(db, 'b.example'), undefined)
  })
})

onEveryDatabase('who uses a domain is counted with the inboxes', async (t, store) => {
  await store.write(async db => {
    const { pod, inbox } = await insertInstallation(db)
    const other = await insertPodRow(db)
    const uses = async () =>
      (await db.selectFrom('domainUse').selectAll().orderBy('domain').orderBy('inboxCount').execute()).map(
        row => [row.domain, row.podId, row.inboxCount],
      )
    const theirs = await insertInboxRow(db, other.id, 'x@b.example')
    const second = await insertInboxRow(db, pod.id, 'bob@example.com')
    t.strictSame(await uses(), [
      ['b.example', other.id, 1],
      ['example.com', pod.id, 2],
    ])
    t.strictSame(
      [
        await domains.isDomainUsed(db, 'b.example'),
        await domains.isDomainUsed(db, 'b.example', pod.id),
        await domains.isDomainUsed(db, 'b.example', other.id),
        await domains.isDomainUsed(db, 'c.example'),
      ],
      [true, true, false, false],
    )
    for (const one of [inbox, second, theirs]) await deleteInbox(db, one, at)
    t.strictSame(await uses(), [])
  })
})

onEveryDatabase('one of those who added a domain has it, whoever is first', async (t, store) => {
  const rows = await store.write(async db => {
    await insertInstallation(db)
    const pods = [null, (await insertPodRow(db)).id, (await insertPodRow(db)).id, (await insertPodRow(db)).id]
    const made: DomainRow[] = []
    for (const podId of pods) made.push(await insert(db, 'a.example', { podId }))
    return made
  })
  await t.rejects(
    store.write(db => insert(db, 'a.example')),
    /unique/i,
    'the account has added it',
  )
  await t.rejects(
    store.write(db => insert(db, 'a.example', { podId: rows[1]!.podId })),
    /unique/i,
    'the pod has added it',
  )
  const verified = { status: 'verified', verifiedAt: at }
  const verify = (row: DomainRow) =>
    store.write(async db => {
      if (await isTaken(db, row)) return 'taken'
      await takeClaim(db, row, at)
      await domains.updateDomain(db, row.id, verified)
      return 'verified'
    })
  const outcomes = await Promise.all(rows.map(verify))
  t.strictSame(outcomes.sort(), ['taken', 'taken', 'taken', 'verified'])
  const claim = (await domains.findDomainClaim(store.read, 'a.example'))!
  const other = rows.find(row => row.id !== claim.id)!
  await t.rejects(
    store.write(db => domains.updateDomain(db, other.id, verified)),
    /unique/i,
    'and the database holds it',
  )
  const others = await store.read.selectFrom('domain').selectAll().where('id', '!=', claim.id).execute()
  t.strictSame(
    others.map(({ status, problem }) => [status, problem]),
    others.map(() => ['failed', 'domain_taken']),
  )
  // Who fails gives it up to the next.
  t.equal(await verify(other), 'taken')
  await store.write(db => domains.updateDomain(db, claim.id, { status: 'failed' }))
  t.equal(await verify(other), 'verified')
  t.equal((await domains.findDomainClaim(store.read, 'a.example'))?.id, other.id)
  await store.write(db => domains.updateDomain(db, other.id, { status: 'under_review' }))
  t.equal(await verify(claim), 'taken', 'a hold keeps it')
})
