import { execFileSync } from 'node:child_process'
import {
  closeSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { createSecretBox } from '../../../lib/base/secrets.ts'
import { systemClock } from '../../../lib/base/time.ts'
import { openDisk } from '../../../lib/blob/disk.ts'
import { verify } from '../../../lib/core/backup/verify.ts'
import { invariants } from '../../../lib/store/invariants.ts'
import { startDaemon } from '../../support/daemon.ts'
import { createInbox } from '../../support/mailbox.ts'
import { openDialog } from '../../support/smtp-dialog.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { until } from '../../support/until.ts'

/** What breaks each promise: the check that tells it, and the change. */
const harms: readonly [check: string, sql: string][] = [
  ['ids', `update "raw" set "id" = '../../secrets.key' where "content" is null`],
  ['ids', `update "account" set "id" = replace("id", '-', '/')`],
  ['delivery', `delete from "queueEntry" where "kind" = 'delivery'`],
  ['delivery', `update "delivery" set "state" = 'delivered'`],
  [
    'event',
    `insert into "webhookDelivery" select 'w', "id", null, 'queued', 0, 'https://x.example', null, null, null, "createdAt", "createdAt" from "event" limit 1`,
  ],
  ['draft', `delete from "queueEntry" where "kind" = 'draft'`],
  ['draft', `update "draft" set "status" = 'open'`],
  ['queue', `update "queueEntry" set "subjectId" = 'nobody' where "kind" = 'draft'`],
  [
    'queue',
    `insert into "queueEntry" select 'again', "kind", "subjectId", "destination", "lane", "isKnown", "turn", "dueAt", "expiresAt", "attempts", "leasedBy", "leasedUntil", "createdAt", "podId", "inboxId", "cutOffs" from "queueEntry" limit 1`,
  ],
  ['status', `delete from "delivery"`],
  ['held', `update "delivery" set "state" = 'held' where "state" = 'queued' or "state" = 'deferred'`],
  ['received', `delete from "event" where "type" = 'message.received'`],
  ['inbound', `update "inbox" set "inboundCount" = "inboundCount" + 1`],
  ['outbound', `update "inbox" set "outboundCount" = "outboundCount" - 1`],
  ['threads', `update "inbox" set "threadCount" = 7`],
  ['unread', `update "thread" set "isRead" = 1 - "isRead"`],
  ['thread', `update "thread" set "messageCount" = 9`],
  [
    'thread',
    `insert into "thread" select 'empty', "inboxId", "subject", 1, 0, "lastMessageAt", "createdAt", null, null from "thread" limit 1`,
  ],
  ['storage', `update "inbox" set "storedKiB" = "storedKiB" + 1`],
  ['pods', `update "pod" set "inboxCount" = 5`],
  ['pods', `update "account" set "podCount" = 2`],
  ['pods', `update "pod" set "isDefault" = 0`],
  ['domains', `update "domainUse" set "inboxCount" = 9`],
  ['usage', `update "dailyUsage" set "inbound" = 0`],
  ['usage', `delete from "dailyUsage"`],
  ['raw', `update "message" set "rawId" = null where "direction" = 'inbound'`],
  ['raw', `update "raw" set "content" = substr("content", 2) where "content" is not null`],
  [
    'bytes',
    `update "raw" set "content" = cast(substr("content", 1, length("content") - 3) || 'x' || x'0d0a' as blob) where "content" is not null`,
  ],
  ['reading', `insert into "reading" values ('unused', '', '', '[]', null, '[]')`],
  ['reading', `update "message" set "readingId" = 'none'`],
  ['search', `delete from "messageSearch"`],
  [
    'purged',
    `update "inbox" set "deletedAt" = "createdAt", "purgedAt" = "createdAt" where "inboundCount" > 0`,
  ],
  ['integrity', `delete from "reading"`],
]

t.test('verify tells each promise that is broken, and nothing where none is', async t => {
  const daemon = await startDaemon(t)
  const ann = await createInbox(daemon, 'ann')
  const dialog = await openDialog(daemon.smtpPort)
  await dialog.reply()
  await dialog.say('EHLO client.example')
  for (const text of ['Small.', 'x'.repeat(900).concat('\r\n').repeat(400)]) {
    await dialog.envelope('bob@example.net', ann.address)
    t.match(await dialog.data(`Subject: Hello\r\n\r\n${text}`), { code: 250 })
  }
  dialog.vanish()
  const letter = { to: 'bob@example.net', subject: 'Hi', body: 'Hi Bob' }
  t.match(await ann.api.send(ann.id, letter), { status: 200 })
  const sendAt = new Date(systemClock.now().getTime() + 86_400_000).toISOString()
  t.equal((await ann.api.post(`/v1/inboxes/${ann.id}/drafts`, { ...letter, sendAt })).status, 201)
  t.match(await daemon.ctl('verify'), { ok: true, findings: [] }, 'while it runs')
  const isFound = async () => (await ann.api.get(`/v1/inboxes/${ann.id}/messages?q=bob`)).body.total === 3
  await until('the search index to have followed', isFound)
  t.equal(await daemon.end('SIGTERM'), 0)

  const dir = temporaryDir(t)
  const look = () =>
    verify({ dataDir: dir, openBlobs: () => openDisk(dir), clock: systemClock, eventsKeptMs: 7 * 86_400_000 })
  const fresh = () => {
    rmSync(dir, { recursive: true, force: true })
    cpSync(daemon.dataDir, dir, { recursive: true })
  }
  fresh()
  t.strictSame(await look(), [], 'a daemon that ended')
  mkdirSync(join(dir, 'raw', 'lost+found'))
  writeFileSync(join(dir, 'raw', 'lost+found', '#12'), '')
  writeFileSync(join(dir, 'raw', 'stray'), '')
  t.strictSame(await look(), [], 'what others put beside the folders of large messages')
  const database = join(dir, 'mailboxd.sqlite')
  const checked = new Set<string>()
  for (const [check, sql] of harms) {
    copyFileSync(join(daemon.dataDir, 'mailboxd.sqlite'), database)
    const connection = new Database(database)
    connection.pragma('foreign_keys = off')
    t.ok(connection.prepare(sql).run().changes > 0, `${sql} changes something`)
    connection.close()
    const findings = await look()
    t.ok(
      findings.some(one => one.check === check),
      `${check}: ${sql} is told (${findings.map(one => `${one.check}: ${one.subject} ${one.found}`)})`,
    )
    checked.add(check)
  }
  const untried = invariants.map(({ name }) => name).filter(name => !checked.has(name))
  t.strictSame(untried, [], 'each invariant was broken')

  const raw = () => {
    const [file] = readdirSync(join(dir, 'raw'), { recursive: true, withFileTypes: true }).filter(one =>
      one.isFile(),
    )
    return join(file!.parentPath, file!.name)
  }
  for (const [what, harm] of [
    ['a file that is gone', () => rmSync(raw())],
    ['a file that is shorter', () => truncateSync(raw(), 10)],
    ['a file of no row', () => writeFileSync(`${raw().slice(0, -1)}x`, '')],
  ] as const) {
    fresh()
    harm()
    t.match(await look(), [{ check: 'files' }], what)
  }
  fresh()
  const changed = openSync(raw(), 'r+')
  writeSync(changed, 'y', 200_000)
  closeSync(changed)
  t.match(
    await look(),
    [{ check: 'bytes', found: /^its bytes changed since it was stored/ }],
    'bit rot in a file',
  )
  fresh()
  const middle = 4096 * 20
  const bytes = Buffer.alloc(4096, 0xa5)
  const file = openSync(database, 'r+')
  writeSync(file, bytes, 0, bytes.length, middle)
  closeSync(file)
  t.match(await look(), [{ check: 'integrity' }], 'a page that is damaged')

  fresh()
  const key = join(dir, 'secrets.key')
  for (const [text, found] of [
    [
      '00'.repeat(32),
      /^is another key: \S+ in place of \S+: restore it from the backup of the data directory, or copy it from another node$/,
    ],
    ['00', /^can not be used: .* is damaged: /],
    [
      undefined,
      /^is missing: restore it from the backup of the data directory, or copy it from another node$/,
    ],
  ] as const) {
    rmSync(key)
    if (text !== undefined) writeFileSync(key, text)
    t.match(await look(), [{ check: 'secrets', subject: key, found }])
  }
  copyFileSync(join(daemon.dataDir, 'secrets.key'), `${key}.next`)
  t.strictSame(await look(), [], 'a change of the key that was cut off before its last step')

  for (const [text, checks] of [
    ['11'.repeat(32), []],
    ['22'.repeat(32), ['secrets']],
  ] as const) {
    fresh()
    rmSync(key)
    execFileSync('mkfifo', [key])
    const looked = look()
    const pipe = await open(key, 'w')
    // It knows by now under which key the secrets are, and reads the file.
    const connection = new Database(database)
    connection
      .prepare('update "secretKey" set "id" = ?')
      .run(createSecretBox(Buffer.from('11'.repeat(32), 'hex')).keyId)
    connection.close()
    rmSync(key)
    writeFileSync(key, text)
    await pipe.writeFile(text)
    await pipe.close()
    const found = (await looked).map(({ check }) => check)
    t.strictSame(found, checks, 'the secrets were put under another key between the two looks')
  }
})
