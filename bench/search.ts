/**
 * `node bench/search.ts [MESSAGES]`: searches in one inbox with 100,000 messages (unless told), through the functions of
 * the store, as an API request does; and what the index costs a message that comes in.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../lib/base/time.ts'
import { openStore } from '../lib/store/open.ts'
import type { SearchFilter } from '../lib/store/search/filter.ts'
import { searchMessages, searchThreads } from '../lib/store/search/search.ts'
import { fillInbox } from './generated-inbox.ts'
import { percentile } from './percentile.ts'
import { table } from './table.ts'

const count = Number(process.argv[2] ?? 100_000)
const rounds = 20
const dir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
const store = await openStore(join(dir, 'search.sqlite'), systemClock)
try {
  const started = performance.now()
  const inbox = await fillInbox(store, count)
  const perMessageUs = ((performance.now() - started) / count) * 1000
  const scope = { podId: inbox.podId, inboxId: inbox.id }
  const everywhere = { podId: null, inboxId: null }
  const searches: [name: string, filter: SearchFilter, offset?: number][] = [
    ['a rare word', { q: `w${(19_990).toString(36)}` }],
    ['a word in every message', { q: 'hello' }],
    ['the same, offset 50,000', { q: 'hello' }, 50_000],
    ['two words in every message', { q: 'hello regards' }],
    ['a phrase in every message', { q: '"kind regards"' }],
    ['a word, without another', { q: 'hello -alpha' }],
    ['from', { from: 'sender7@example.net' }],
    ['subject and date', { subject: 'report', after: '2026-01-01T00:10:00.000Z' }],
    ['hasAttachment', { hasAttachment: true }],
    ['category', { category: 'personal' }],
    ['two characters of Chinese', { q: '发票' }],
    ['one character of Chinese', { q: '票' }],
    ['nothing is found', { q: 'unheardof' }],
  ]
  const rows: string[][] = []
  for (const [name, filter, offset = 0] of searches) {
    const page = { limit: 50, offset }
    const total = (await searchMessages(store.read, scope, filter, page)).total
    rows.push([
      name,
      String(total),
      ...(await timed(() => searchMessages(store.read, scope, filter, page))),
      ...(await timed(() => searchMessages(store.read, everywhere, filter, page))),
      ...(await timed(() => searchThreads(store.read, scope, filter, page))),
    ])
  }
  console.log(`${count} messages of 600 to 900 characters in one inbox; pages of 50; ms, ${rounds} rounds\n`)
  const kinds = ['inbox', 'account', 'threads'].flatMap(kind => [`${kind} p50`, `${kind} p99`])
  console.log(table(['search', 'found', ...kinds], rows))
  console.log(`\ninserted and indexed: ${perMessageUs.toFixed(0)} µs a message`)
} finally {
  await store.close()
  rmSync(dir, { recursive: true, force: true })
}

async function timed(search: () => Promise<unknown>): Promise<string[]> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const started = performance.now()
    await search()
    times.push(performance.now() - started)
  }
  return [percentile(times, 50), percentile(times, 99)].map(ms => ms.toFixed(1))
}
