import type { Db } from '../../lib/store/dialect/dialect.ts'

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
/** What is made by chance: tokens, secrets, reverse-paths, signatures, what a database or a key was sealed to, ports. */
const byChance: readonly (readonly [RegExp, string])[] = [
  [/\b(?:mbx|mb|sk|key|whsec)_[\w+/=-]{8,}/g, '<secret>'],
  [/b-[a-z0-9]{24}@/g, 'b-<token>@'],
  [/srs0=[a-z0-9]+=/g, 'srs0=<mac>='],
  [/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>'],
  // Before what a signature may look like: it may begin with what a boundary begins with.
  [/(?:signature|sig)=[\w-]{20,}/g, '<signature>'],
  [/=_[\w.-]+/g, '<boundary>'],
  [/\b(?:b|bh|p)=[\w+/=\s]{40,}/g, '<base64>'],
  [/SIZE=\d+/g, 'SIZE=<n>'],
]

/** Gives what was made by chance names that are the same each time: an id that of its place among those that came before it. */
export function namesOfChance(): (text: string) => string {
  const ids = new Map<string, string>()
  return text => {
    let named = text.replace(uuid, id => {
      if (!ids.has(id)) ids.set(id, `<id ${ids.size + 1}>`)
      return ids.get(id)!
    })
    for (const [form, name] of byChance) named = named.replace(form, name)
    return named
  }
}

/** A value of JSON with such names in it. */
export function namedWith(names: (text: string) => string, value: unknown): unknown {
  const text = JSON.stringify(value ?? null, (key, one) =>
    key === 'tokenPrefix' || key === 'last4' ? '<of a token>' : one,
  )
  return JSON.parse(names(text))
}

/** Tables whose rows say what became of all that was asked. */
const tables = [
  'account',
  'apiKey',
  'attempt',
  'contact',
  'dailyUsage',
  'delivery',
  'destination',
  'domain',
  'draft',
  'event',
  'feedback',
  'idempotency',
  'inbox',
  'member',
  'message',
  'pod',
  'policyAudit',
  'policyMode',
  'policyRule',
  'queueEntry',
  'raw',
  'reading',
  'suppression',
  'thread',
  'unindexedBody',
  'usage',
] as const
/** Columns of what is made by chance, or measured; a boundary is not always as long. */
const hidden = /hash|sha256|secret|key$|durationMs|checkToken|^sizeBytes$/i

/** All rows of these, without what is hidden, by table. */
export async function namedRows(db: Db, names: (text: string) => string): Promise<[string, string[]][]> {
  const rows: [string, string[]][] = []
  for (const name of tables) {
    const found: object[] = await db.selectFrom(name).selectAll().execute()
    // Each database has an order of its own.
    const lines = found.sort(inOrderOfIds).map(row => {
      const kept = Object.entries(row).filter(
        ([column, value]) => !hidden.test(column) && !ArrayBuffer.isView(value),
      )
      return JSON.stringify(namedWith(names, Object.fromEntries(kept)))
    })
    rows.push([name, lines.sort()])
  }
  return rows
}

function inOrderOfIds(one: { readonly id?: string }, other: { readonly id?: string }): number {
  return (one.id ?? '') < (other.id ?? '') ? -1 : 1
}
