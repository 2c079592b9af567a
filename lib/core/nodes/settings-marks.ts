import { sha256Hex } from '../../base/secrets.ts'
import type { Config } from '../../config/load.ts'

/** What each node may have as its machine needs it: tables as a whole, and settings of the others. */
const ownTables = new Set(['log', 'metrics', 'tls', 'acme', 'dns', 'postgres', 's3', 'reading', 'scanner'])
const ownSettings = new Set([
  'data_dir',
  'database',
  'min_free',
  'listen',
  'listen_tls',
  'threads',
  'source_address',
  'public_addresses',
  'trusted_proxies',
])
const markLength = 12

/**
 * How a node is configured, as far as all nodes should be alike: of each table, and of each setting above the first one, a hash. Nothing
 * secret is in it: that lies in files.
 */
export function settingsMarks(config: Config): Record<string, string> {
  return Object.fromEntries(
    Object.entries(config)
      .filter(([name]) => !ownTables.has(name) && !ownSettings.has(name))
      .map(([name, value]) => [name, sha256Hex(inOrder(value)).slice(0, markLength)]),
  )
}

/** As JSON in which the order of names in the file says nothing. */
function inOrder(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    const settings = Object.entries(part).filter(([name]) => !ownSettings.has(name))
    return Object.fromEntries(settings.sort(([one], [other]) => (one < other ? -1 : 1)))
  })
}
