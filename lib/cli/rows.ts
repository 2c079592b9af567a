import { createIds } from '../base/ids.ts'
import { systemClock } from '../base/time.ts'
import type { Desk, Rows } from '../core/app/app.ts'
import { openDesk } from '../core/open-desk.ts'
import { openRows, type RowsParts } from '../core/open-rows.ts'
import { baseUrlOf } from './base-url.ts'
import { becomeOwner, findConfig, type Installation, requireInstallation } from './installation.ts'
import { commandLog } from './log.ts'

/**
 * What an installation is opened with, by mailboxctl: as whom it belongs to.
 * @param mayMake as of `withApp`
 * @throws ConfigFault where there is none
 */
export async function partsOf(installation: Installation, mayMake: boolean): Promise<RowsParts> {
  const config = await findConfig(installation)
  if (!mayMake) await requireInstallation(installation, config)
  becomeOwner(config.data_dir)
  const log = await commandLog(config)
  return { config, clock: systemClock, ids: createIds(systemClock), log, mayMigrate: false }
}

/**
 * As `withApp`, for what asks and changes rows alone: it is open in a fraction of the time.
 * @throws ConfigFault where there is no installation
 */
export async function withRows<T>(installation: Installation, work: (rows: Rows) => Promise<T>): Promise<T> {
  const rows = await openRows(await partsOf(installation, false))
  try {
    return await work(rows)
  } finally {
    await rows.store.close()
  }
}

/**
 * As `withRows`, with what opens the secrets in them.
 * @throws ConfigFault where there is no installation; SecretKeyFault
 */
export async function withDesk<T>(installation: Installation, work: (desk: Desk) => Promise<T>): Promise<T> {
  const parts = await partsOf(installation, false)
  const desk = await openDesk({ ...parts, baseUrl: baseUrlOf(parts.config) })
  try {
    return await work(desk)
  } finally {
    await desk.store.close()
  }
}
