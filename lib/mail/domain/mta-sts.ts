/** Bytes of an MTA-STS policy (RFC 8461). */
export const stsPolicyBytes = 64 * 1024
/** Names in an MTA-STS policy. */
export const stsPolicyMx = 100

/** What a domain asks of those who send to it (RFC 8461 §3.2). */
export interface StsPolicy {
  readonly mode: 'enforce' | 'testing' | 'none'
  /** Names of mail servers, in lower case; `*.` before one stands for exactly one label. */
  readonly mx: readonly string[]
  readonly maxAgeSeconds: number
}

/** RFC 8461 §3.2: "max_age", at the most. */
const longestAgeSeconds = 31_557_600

/**
 * The id of the policy that a domain has, of the texts at `_mta-sts.<domain>` (RFC 8461 §3.1): of one record alone, for of
 * two nobody knows which one counts.
 */
export function readStsId(texts: readonly string[]): string | undefined {
  const records = texts.filter(text => /^v=STSv1[ \t]*(?:;|$)/.test(text))
  const [record = ''] = records.length === 1 ? records : []
  return record
    .split(';')
    .map(field => /^id=([a-z0-9]{1,32})$/i.exec(field.trim())?.[1])
    .find(id => id !== undefined)
}

/** Reads a policy file (RFC 8461 §3.2); undefined when it is none. */
export function readStsPolicy(text: string): StsPolicy | undefined {
  const fields = new Map<string, string[]>()
  for (const line of text.split(/\r?\n/)) {
    const at = line.indexOf(':')
    if (at < 0) {
      if (line.trim() === '') continue
      return undefined
    }
    const name = line.slice(0, at).trim()
    fields.set(name, [...(fields.get(name) ?? []), line.slice(at + 1).trim()])
    if ((fields.get(name)?.length ?? 0) > stsPolicyMx) return undefined
  }
  const mode = fields.get('mode')?.[0]
  const age = fields.get('max_age')?.[0] ?? ''
  const mx = (fields.get('mx') ?? []).map(name => name.toLowerCase().replace(/\.$/, ''))
  if (fields.get('version')?.[0] !== 'STSv1' || !/^\d{1,10}$/.test(age)) return undefined
  if (mode !== 'enforce' && mode !== 'testing' && mode !== 'none') return undefined
  if (mx.length === 0 && mode !== 'none') return undefined
  if (!mx.every(name => /^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(name) && name.length <= 255))
    return undefined
  return { mode, mx, maxAgeSeconds: Math.min(Number(age), longestAgeSeconds) }
}

/** The policy as the file that others fetch. */
export function writeStsPolicy({ mode, mx, maxAgeSeconds }: StsPolicy): string {
  const lines = ['version: STSv1', `mode: ${mode}`, ...mx.map(name => `mx: ${name}`)]
  return [...lines, `max_age: ${maxAgeSeconds}`, ''].join('\r\n')
}

/** Whether mail may go to this host by the policy (RFC 8461 §4.1). @param host lower-case, no final dot */
export function allowsHost({ mx }: Pick<StsPolicy, 'mx'>, host: string): boolean {
  return mx.some(name => {
    if (!name.startsWith('*.')) return name === host
    const rest = host.indexOf('.')
    return rest > 0 && host.slice(rest) === name.slice(1)
  })
}
