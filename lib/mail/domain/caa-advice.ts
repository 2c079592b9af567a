import type { Lookup } from '../signature/key.ts'
import { find } from './find.ts'
import { type Finding, finding } from './finding.ts'

/** What CAs call themselves in CAA records (RFC 8659 §4.2), by the host of their ACME directory. */
const authorities: Readonly<Record<string, string>> = {
  'acme-v02.api.letsencrypt.org': 'letsencrypt.org',
  'acme-staging-v02.api.letsencrypt.org': 'letsencrypt.org',
  'acme.zerossl.com': 'sectigo.com',
  'dv.acme-v02.api.pki.goog': 'pki.goog',
  'acme.ssl.com': 'ssl.com',
  'api.buypass.com': 'buypass.com',
}

/**
 * Which CAs may give certificates for the server's name, by the closest name above it that says so (RFC 8659 §3).
 * @param directory the ACME directory that is in use, where one is
 */
export async function adviseCaa(
  hostname: string,
  directory: string | undefined,
  lookup: Lookup,
): Promise<Finding[]> {
  const labels = hostname.split('.')
  const names = labels.map((_, index) => labels.slice(index).join('.'))
  const ours = directory === undefined ? undefined : authorities[new URL(directory).host]
  for (const name of names) {
    const records = await find(lookup, name, 'CAA')
    if (records.length === 0) continue
    const issuers = records.flatMap(issuerOf)
    if (ours === undefined || issuers.length === 0 || issuers.includes(ours)) return []
    const message = `the CA that certificates are gotten from is ${ours}, and CAA allows others alone: it will refuse (RFC 8659)`
    return [finding('error', 'caa_forbids', name, message, `${name}. 3600 IN CAA 0 issue "${ours}"`)]
  }
  const message =
    "any CA may give a certificate for this name (RFC 8659): name yours, for Let's Encrypt so as it stands here"
  const paste = `${hostname}. 3600 IN CAA 0 issue "${ours ?? 'letsencrypt.org'}"`
  return [finding('hint', 'caa_missing', hostname, message, paste)]
}

/** Without the parameters behind a semicolon; an empty one stands for nobody. */
function issuerOf(record: unknown): string[] {
  if (typeof record !== 'object' || record === null || !('issue' in record)) return []
  return [String(record.issue).split(';')[0]!.trim().toLowerCase()]
}
