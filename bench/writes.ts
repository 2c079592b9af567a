/**
 * `bin/node bench/writes.ts [ROUNDS]`: the main thread's CPU time for the write of a message of 4 kB that came, twenty at a time, in this
 * process; as it is, and without what costs something in it, by turns. About half a minute a round.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import { parseConfig } from '../lib/config/load.ts'
import { createInbox } from '../lib/core/account/inboxes.ts'
import type { App } from '../lib/core/app/app.ts'
import { operator } from '../lib/core/app/caller.ts'
import type { Reception } from '../lib/core/inbound/arrival.ts'
import { prepareReception } from '../lib/core/inbound/receive.ts'
import { createReceiver } from '../lib/core/inbound/receiver.ts'
import { resolveRecipient } from '../lib/core/inbound/recipient.ts'
import { writeReceptions } from '../lib/core/inbound/write.ts'
import { databasePath } from '../lib/core/open-rows.ts'
import { percentile } from './percentile.ts'
import { withInstallation } from './subject/installation.ts'
import { table } from './table.ts'

const rounds = Number(process.argv[2] ?? 5)
const inboxes = 20
const messages = 1000
const atOnce = 20
const text = `${'A line of the text of a message, which is about as long as others. '.repeat(1)}\r\n`.repeat(
  55,
)

/** What is done to the closed file, and to the connection that writes. */
interface Variant {
  readonly file?: (database: Database.Database) => void
  readonly pragma?: string
}

const indexes = (names: readonly string[]) => (database: Database.Database) => {
  for (const name of names) database.exec(`drop index "${name}"`)
}
const variants: Readonly<Record<string, Variant>> = {
  'as it is': {},
  'secure_delete off': { pragma: 'pragma secure_delete = off' },
  'auto_vacuum none': {
    file(database) {
      database.pragma('auto_vacuum = none')
      database.exec('vacuum')
    },
  },
  'without message_category': { file: indexes(['message_category']) },
  'without message_raw': { file: indexes(['message_raw']) },
  'without message_directionList': { file: indexes(['message_directionList']) },
}

const found: Record<string, number[]> = {}
for (let round = 0; round < rounds; round++) {
  for (const [name, variant] of Object.entries(variants)) {
    found[name] = [...(found[name] ?? []), await measure(variant)]
  }
}
const rows = Object.entries(found).map(([name, us]) => [
  name,
  percentile(us, 50).toFixed(0),
  Math.min(...us).toFixed(0),
  Math.max(...us).toFixed(0),
])
console.log(table(['µs of CPU a message', 'median', 'least', 'most'], rows))

async function measure({ file = () => {}, pragma }: Variant): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
  const config = parseConfig(
    `hostname = "mx.mailboxd.test"\naccount_domain = "mailboxd.test"\ndata_dir = "${dir}"\n`,
    'bench',
  )
  try {
    const names = await withInstallation(config, async app => {
      const made: string[] = []
      for (let n = 0; n < inboxes; n++) made.push((await createInbox(app, operator, {})).address)
      return made
    })
    const database = new Database(databasePath(dir))
    file(database)
    database.close()
    return await withInstallation(config, async app => {
      if (pragma !== undefined) await app.store.write(db => sql.raw(pragma).execute(db))
      const warm = await prepare(app, names, messages / 5)
      await write(app, warm)
      const receptions = await prepare(app, names, messages)
      const before = process.threadCpuUsage()
      await write(app, receptions)
      const { user, system } = process.threadCpuUsage(before)
      return (user + system) / messages
    })
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function write(app: App, receptions: readonly Reception[]): Promise<void> {
  for (let at = 0; at < receptions.length; at += atOnce) {
    await app.store.write(db => writeReceptions(app, db, receptions.slice(at, at + atOnce)))
  }
}

async function prepare(app: App, names: readonly string[], count: number): Promise<Reception[]> {
  const receiver = createReceiver(app)
  const all: Reception[] = []
  for (let n = 0; n < count; n++) {
    const bytes = Buffer.from(
      `From: bob${n % 50}@example.net\r\nSubject: report ${n}\r\nMessage-ID: <${n}.${process.hrtime.bigint()}@example.net>\r\n\r\n${text}`,
    )
    const recipients = [await resolveRecipient(app, names[n % names.length]!)]
    const content = { kind: 'memory', bytes } as const
    const peer = { kind: 'local' } as const
    all.push(
      await prepareReception(receiver, {
        sessionId: 's',
        mailFrom: 'bob@example.net',
        recipients,
        content,
        peer,
      }),
    )
  }
  return all
}
