import { type FoundFault, faultsOfText, type Given, invalidRequest, Problem } from '../../base/problem.ts'

import type { Listed, Page } from '../../model/page.ts'
import type { Pod, PodChange, PodCreation } from '../../model/pod.ts'
import { deletePodApiKeys } from '../../store/api-keys.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { notice } from '../../store/dialect/notices.ts'
import { hasPodDomains } from '../../store/domains.ts'
import { moveDeletedInboxes } from '../../store/inboxes.ts'
import * as pods from '../../store/pods.ts'
import { deletePolicy } from '../../store/policy.ts'
import { deletePodSuppressions } from '../../store/suppressions.ts'
import type { PodRow } from '../../store/tables.ts'
import type { App, Rows } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { getPodRow } from '../app/reach.ts'

function present(row: PodRow): Pod {
  const { id, clientId, name, isDefault, createdAt } = row
  return { id, clientId, name, isDefault: isDefault === 1, createdAt }
}

export async function getPod(app: Rows, caller: Caller, idOrClientId: string): Promise<Pod> {
  return present(await getPodRow(app.store.read, caller, idOrClientId))
}

export async function listPods(app: Rows, caller: Caller, page: Page): Promise<Listed<Pod>> {
  if (caller.podId !== null) {
    const own = await pods.findPod(app.store.read, caller.podId)
    return { rows: own && page.offset === 0 && page.limit > 0 ? [present(own)] : [], total: own ? 1 : 0 }
  }
  const { rows, total } = await pods.listPods(app.store.read, page)
  return { rows: rows.map(present), total }
}

/** @throws Problem `client_id_taken`, `invalid_request` */
export async function createPod(app: App, request: PodCreation): Promise<Pod> {
  const row: PodRow = {
    id: app.ids.next(),
    clientId: request.clientId ?? null,
    name: request.name ?? null,
    isDefault: 0,
    inboxCount: 0,
    createdAt: app.clock.now().toISOString(),
  }
  await app.store.write(async db => {
    await requireFreeClientId(db, row.clientId)
    await pods.insertPod(db, row)
  })
  return present(row)
}

/** @throws Problem `not_found`, `client_id_taken`, `invalid_request` */
export async function changePod(
  app: App,
  caller: Caller,
  idOrClientId: string,
  change: PodChange,
): Promise<Pod> {
  return app.store.write(async db => {
    const row = await getPodRow(db, caller, idOrClientId)
    if (change.clientId !== undefined && change.clientId !== row.clientId) {
      await requireFreeClientId(db, change.clientId)
    }
    if (Object.keys(change).length > 0) await pods.updatePod(db, row.id, change)
    return present({ ...row, ...change })
  })
}

/** What no schema says of a pod that is to be made or changed. */
export function podFaults(given: Given): Iterable<FoundFault> {
  return faultsOfText(given, 'clientId', requireClientId)
}

/** @throws Problem `invalid_request` */
function requireClientId(clientId: string): void {
  // In a path it would name nothing.
  if (clientId === '') throw invalidRequest('body/clientId', 'must have at least one character')
}

async function requireFreeClientId(db: Db, clientId: string | null): Promise<void> {
  if (clientId !== null) requireClientId(clientId)
  if (clientId !== null && (await pods.findPodByClientId(db, clientId))) throw new Problem('client_id_taken')
}

/** @throws Problem `not_found`, `default_pod`, `pod_not_empty`, `pod_has_domains` */
export async function deletePod(app: App, caller: Caller, idOrClientId: string): Promise<void> {
  await app.store.write(async db => {
    const row = await getPodRow(db, caller, idOrClientId)
    if (row.isDefault === 1) throw new Problem('default_pod')
    if (row.inboxCount > 0) throw new Problem('pod_not_empty')
    if (await hasPodDomains(db, row.id)) throw new Problem('pod_has_domains')
    await deletePodApiKeys(db, row.id)
    notice(db, 'revocation')
    await deletePolicy(db, row.id)
    await deletePodSuppressions(db, row.id)
    const heir = await pods.findDefaultPod(db)
    if (heir) await moveDeletedInboxes(db, row.id, heir.id)
    await pods.deletePod(db, row.id)
  })
}
