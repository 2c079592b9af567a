import { randomInt, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { rawName } from '../../lib/core/backup/contents.ts'
import { type Answer, apiOf } from '../support/api.ts'
import { findContradictions } from '../support/consistency.ts'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import {
  bestLuck,
  type DiskModel,
  type Luck,
  modelDisk,
  randomLuck,
  worstLuck,
} from '../support/disk-after-cut.ts'
import { journalDisk, type Step } from '../support/disk-journal.ts'
import { without } from '../support/peers.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

/** What was answered, and holds from then on: until something is asked for that ends it. */
interface Promised {
  readonly what: string
  readonly from: number
  until: number
  readonly holds: (disk: Disk) => boolean
}

/** The files as a cut left them, their database opened once. */
interface Disk {
  readonly dir: string
  row(sql: string, ...values: string[]): Record<string, unknown> | undefined
}

interface Story {
  readonly root: string
  readonly steps: readonly Step[]
  readonly promises: readonly Promised[]
  readonly daemon: TestDaemon
  readonly token: string
}

/** So many more cuts keep some of what was not synced. */
const luckyCuts = 20

const large = `${'x'.repeat(998)}\r\n`.repeat(300)

/** A day of a daemon whose files are written down; killed at its end. */
async function story(t: Test): Promise<Story> {
  const root = join(temporaryDir(t), 'data')
  const journal = journalDisk(t, root)
  const webhook = await startWebhookReceiver(t)
  const daemon = await startDaemon(t, {
    dataDir: root,
    beginsEmpty: true,
    env: journal.env,
    toml: '[webhook]\nallow_http = true\nallow_networks = ["127.0.0.0/8"]',
  })
  const promises: Promised[] = []
  const promised = (what: string, holds: Promised['holds']): Promised => {
    const promise = { what, from: journal.length(), until: Number.POSITIVE_INFINITY, holds }
    promises.push(promise)
    return promise
  }
  const { token } = await daemon.ctl('key', 'create')
  promised('a key that mailboxctl printed', ({ row }) => row('select * from "apiKey"') !== undefined)
  const api = apiOf(daemon.baseUrl, String(token))
  const done = (answer: Answer): Answer['body'] => {
    if (answer.status >= 300) throw new Error(`${answer.status}: ${answer.bytes}`)
    return answer.body
  }
  const there = (what: string, table: string, id: string) =>
    promised(what, ({ row }) => row(`select * from "${table}" where "id" = ?`, id) !== undefined)
  /** What is about to be asked for may end these. */
  const ends = (...undone: readonly Promised[]) => {
    for (const one of undone) one.until = journal.length()
  }

  const inbox = async (mailboxName: string, more: object = {}) => {
    const body = done(await api.post('/v1/inboxes', { mailboxName, ...more }))
    return { id: String(body.id), promise: there('an inbox', 'inbox', body.id) }
  }
  const ann = await inbox('ann', { webhookUrl: webhook.url })
  const secretKey = readFileSync(join(root, 'secrets.key'))
  promised(
    'the key that opens the webhook secret',
    ({ dir }) =>
      existsSync(join(dir, 'secrets.key')) && readFileSync(join(dir, 'secrets.key')).equals(secretKey),
  )
  const bea = await inbox('bea')

  const copies = new Map<string, Promised>()
  const mail = async (body: string) => {
    const messageId = `<${randomUUID()}@client.example>`
    const content = `Message-ID: ${messageId}\r\nSubject: s\r\n\r\n${body}\r\n`
    const dialog = await greetedDialog(daemon.smtpPort)
    await dialog.envelope('bob@example.net', 'ann@ours.example', 'bea@ours.example')
    const reply = await dialog.data(content)
    dialog.end()
    if (reply.code !== 250) throw new Error(reply.text)
    promised(`a mail of ${content.length} bytes`, ({ dir, row }) => {
      const raw = row(
        'select raw.* from message join raw on raw.id = "rawId" where "rfcMessageId" = ? and "inboxId" = ?',
        messageId,
        ann.id,
      )
      const bytes =
        raw && ((raw.content as Buffer | null) ?? readFileSync(join(dir, rawName(String(raw.id)))))
      return bytes?.toString() === `${content}\r\n`
    })
    const copy = promised(
      'its second copy',
      ({ row }) =>
        row('select * from message where "rfcMessageId" = ? and "inboxId" = ?', messageId, bea.id) !==
        undefined,
    )
    copies.set(messageId, copy)
  }
  const send = async (attachedBytes = 0) => {
    const key = randomUUID()
    const content = Buffer.alloc(attachedBytes, 'z').toString('base64')
    const attachments = attachedBytes > 0 ? [{ filename: 'z.txt', contentType: 'text/plain', content }] : []
    const message = { to: 'bob@example.net', subject: 's', body: 'Hello', attachments }
    const { messageId } = done(await api.send(ann.id, message, key))
    there('a send', 'message', messageId)
    promised('the key of a send, so that a repeat sends nothing', ({ row }) => {
      return (
        row('select * from idempotency where "key" = ? and body like ?', key, `%${messageId}%`) !== undefined
      )
    })
    promised('the bytes of a send', ({ dir, row }) => {
      const raw = row(
        'select raw.* from message join raw on raw.id = message.rawId where message.id = ?',
        messageId,
      )
      if (!raw) return false
      const path = join(dir, rawName(String(raw.id)))
      return raw.content !== null || (existsSync(path) && statSync(path).size === raw.sizeBytes)
    })
  }
  const draft = async (bytes: number) => {
    const content = Buffer.alloc(bytes, 'y').toString('base64')
    const attachments = [{ filename: 'n.txt', contentType: 'text/plain', content }]
    const made = { to: 'bob@example.net', subject: 'd', body: 'd', attachments }
    const { id } = done(await api.post(`/v1/inboxes/${ann.id}/drafts`, made))
    const promise = promised(`a draft with ${bytes} bytes attached`, ({ dir, row }) => {
      const kept = row(
        'select a.* from draft join "draftAttachment" a on a."draftId" = draft.id where draft.id = ?',
        id,
      )
      if (!kept) return false
      const attached = (kept.content as Buffer | null) ?? readFileSync(join(dir, rawName(String(kept.id))))
      return attached.equals(Buffer.alloc(bytes, 'y'))
    })
    return { id, promise }
  }

  const writtenAtMs = () => statSync(join(root, 'mailboxd.sqlite')).mtimeMs
  for (let round = 0; round < 3; round++) {
    const before = writtenAtMs()
    await mail(`Round ${round}`)
    await mail(large)
    await send()
    await send(300_000)
    await Promise.all([mail('a'), mail('b'), send(), mail(large), send(), mail('e'), draft(5), send()])

    const kept = await draft(300_000)
    done(await api.patch(`/v1/drafts/${kept.id}`, { subject: 'new' }))
    const changed = promised(
      'a draft that was changed',
      ({ row }) => row('select * from draft where id = ?', kept.id)?.subject === 'new',
    )
    ends(kept.promise, changed)
    done(await api.delete(`/v1/drafts/${kept.id}`))
    promised(
      'a draft that was deleted',
      ({ row }) => row('select * from draft where id = ?', kept.id) === undefined,
    )

    const { id: keyId } = done(await api.post(`/v1/inboxes/${ann.id}/api-keys`, { name: 'k' }))
    there('a key', 'apiKey', keyId)
    done(await api.delete(`/v1/inboxes/${ann.id}/api-keys/${keyId}`))
    promised(
      'a key that was revoked',
      ({ row }) => typeof row('select * from "apiKey" where id = ?', keyId)?.revokedAt === 'string',
    )

    const extra = await inbox(`extra${round}`)
    done(await api.delete(`/v1/inboxes/${extra.id}`))
    promised(
      'an inbox that was deleted',
      ({ row }) => typeof row('select * from inbox where id = ?', extra.id)?.deletedAt === 'string',
    )

    const { data } = done(await api.get(`/v1/inboxes/${bea.id}/messages?limit=1`))
    ends(copies.get(data[0].rfcMessageId)!)
    done(await api.delete(`/v1/messages/${data[0].id}`))
    promised(
      'a message that was deleted',
      ({ row }) => row('select * from message where id = ?', data[0].id) === undefined,
    )
    await until('a checkpoint in this round', () => writtenAtMs() > before)
  }
  await until('events to be told', () => webhook.calls.length > 10)
  await daemon.end('SIGKILL')
  return { root, steps: journal.steps(), promises, daemon, token: String(token) }
}

/** The promises that the files after a cut do not keep, and what contradicts itself in them. */
async function brokenAfter(dir: string, at: number, promises: readonly Promised[]): Promise<string[]> {
  const due = promises.filter(one => one.from <= at && at < one.until)
  const path = join(dir, 'mailboxd.sqlite')
  if (!existsSync(path)) return due.map(one => `${one.what}: there is no database`)
  try {
    const connection = new Database(path)
    const broken: string[] = []
    try {
      const isUsed = (id: string) =>
        connection
          .prepare('select id from raw where id = ? union all select id from "draftAttachment" where id = ?')
          .get(id, id)
      // As a start does: what came before its row, and what was in the spool.
      for (const file of filesBelow(join(dir, 'raw'))) if (!isUsed(file.name)) rmSync(file.path)
      for (const file of filesBelow(join(dir, 'spool'))) rmSync(file.path)
      const disk: Disk = {
        dir,
        row: (sql, ...values) =>
          connection.prepare(sql).get(...values) as Record<string, unknown> | undefined,
      }
      for (const one of due) if (!one.holds(disk)) broken.push(one.what)
    } finally {
      connection.close()
    }
    return [...broken, ...(due.length > 0 ? await findContradictions(dir) : [])]
  } catch (error) {
    return [String(error)]
  }
}

function filesBelow(dir: string): { name: string; path: string }[] {
  if (!existsSync(dir)) return []
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => ({ name: entry.name, path: join(entry.parentPath, entry.name) }))
}

/** Plays the journal, and cuts the power wherever `isCut` says; what is broken after each cut, or, where not all is heard, after the first that breaks something. */
async function cuts(
  t: Test,
  { root, steps, promises }: Story,
  isCut: (step: Step, index: number) => Luck | undefined,
  isHeard?: (step: Step) => boolean,
): Promise<{ count: number; broken: string[] }> {
  const disk = modelDisk(root)
  const dir = join(temporaryDir(t), 'after')
  const broken: string[] = []
  let count = 0
  for (const [index, step] of steps.entries()) {
    const luck = isCut(step, index)
    if (luck) {
      disk.cut(luck, dir)
      count++
      for (const one of await brokenAfter(dir, step.at, promises)) broken.push(`cut ${index}: ${one}`)
      if (isHeard && broken.length > 0) break
    }
    if (!isHeard || isHeard(step)) disk.apply(step)
  }
  return { count, broken }
}

t.test(
  'whenever the power is cut, what was promised is on the disk',
  { skip: without('gcc'), timeout: 280_000 },
  async t => {
    const told = await story(t)
    const { steps, promises, root } = told

    const whole: DiskModel = modelDisk(root)
    for (const step of steps) whole.apply(step)
    const after = join(temporaryDir(t), 'after')
    whole.cut(bestLuck, after)
    const differing = filesBelow(root).filter(({ path }) => {
      const copy = join(after, path.slice(root.length))
      return !path.endsWith('-shm') && !(existsSync(copy) && readFileSync(copy).equals(readFileSync(path)))
    })
    t.strictSame(differing, [], 'the journal has all that was written')

    const checkpointed = steps.filter(({ what, path }) => what === 'write' && path.endsWith('.sqlite'))
    t.ok(checkpointed.at(-1)!.at > promises[promises.length / 2]!.from, 'checkpoints are among it')

    const seed = randomInt(2 ** 31)
    // Between the ends of two fsyncs nothing more gets to the disk for sure, so just before one is the worst moment. Each run takes every second of them.
    let ends = seed
    const isWorst = (step: Step) => step.what === 'sync end' && ends++ % 2 === 0
    const worst = await cuts(t, told, step => (isWorst(step) ? worstLuck : undefined))
    t.strictSame(worst.broken, [], `${worst.count} cuts after which the disk has only what was synced`)

    const isChosen = new Set(
      Array.from({ length: luckyCuts }, (_, n) => Math.floor(((n + 0.5) / luckyCuts) * steps.length)),
    )
    const lucky = await cuts(t, told, (_, index) =>
      isChosen.has(index) ? randomLuck(seed + index) : undefined,
    )
    t.strictSame(lucky.broken, [], `${lucky.count} cuts after which it has some of the rest, seed ${seed}`)

    const isFolder = (path: string) => !path.slice(root.length).includes('.') && !/-[0-9a-f]{12}$/.test(path)
    const forgotten: Record<string, (path: string) => boolean> = {
      'any fsync': () => true,
      'the fsync of the write-ahead log': path => path.endsWith('-wal'),
      'the fsync of large raws': path => /-[0-9a-f]{12}$/.test(path),
      'the fsync of folders of large raws': path => isFolder(path) && path !== root,
      'the fsync of the data directory': path => path === root,
    }
    const every = Math.floor(steps.length / 12)
    for (const [name, isForgotten] of Object.entries(forgotten)) {
      const without = await cuts(
        t,
        told,
        (_, index) => (index % every === every - 1 ? worstLuck : undefined),
        step => step.what !== 'sync end' || !isForgotten(step.path),
      )
      t.ok(without.broken.length > 0, `without ${name} it would be noticed`)
    }

    const disk = modelDisk(root)
    for (const step of steps) disk.apply(step)
    const dataDir = join(temporaryDir(t), 'after')
    disk.cut(worstLuck, dataDir)
    const again = await startDaemon(t, { dataDir })
    const api = apiOf(again.baseUrl, told.token)
    const { data, total } = (await api.get('/v1/messages?limit=100')).body
    t.equal(data.length, total)
    t.strictSame(
      [
        ...new Set(
          await Promise.all(
            data.map(async ({ id }: { id: string }) => (await api.get(`/v1/messages/${id}/raw`)).status),
          ),
        ),
      ],
      [200],
      'a daemon starts on what is left, and gives every message',
    )
    t.strictSame((await again.ctl('verify')).findings, [])
    t.comment(`${steps.length} steps, ${promises.length} promises`)
  },
)
