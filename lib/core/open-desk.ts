import type { Desk } from './app/app.ts'
import { openSecrets } from './app/secrets.ts'
import { openRows, type RowsParts } from './open-rows.ts'

export interface DeskParts extends RowsParts {
  /** Asked when an answer needs it: the port of the API may be known only after it listens. */
  readonly baseUrl: () => string
}

/** Opens the database in the data directory (made when missing) and the key of the secrets in it. @throws as `openRows` and `openSecrets` */
export async function openDesk(parts: DeskParts): Promise<Desk> {
  const { config, clock, baseUrl } = parts
  const rows = await openRows(parts)
  try {
    const secrets = await openSecrets({ store: rows.store, dataDir: config.data_dir, clock })
    return {
      ...rows,
      secrets,
      get baseUrl() {
        return baseUrl()
      },
    }
  } catch (error) {
    await rows.store.close()
    throw error
  }
}
