import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { apiOf } from '../support/api.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { loadRest } from '../support/load-rest.ts'
import { createInbox } from '../support/mailbox.ts'
import { startNodes } from '../support/nodes.ts'
import { programsBefore, programsWithSteps, withoutCommitBefore } from '../support/other-programs.ts'
import { without } from '../support/peers.ts'
import { runProgram } from '../support/program.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { startTheirServer } from '../support/their-server.ts'
import { until } from '../support/until.ts'

/** What a release adds that its older nodes do without: columns of the tables that each mail and send writes, and a table. */
const expand = {
  number: 9001,
  name: 'expand',
  breaking: false,
  sql: `
create table "spare" ("id" text primary key);
alter table "inbox" add column "later" text;
alter table "message" add column "later" integer not null default 0;
alter table "thread" add column "later" text;
alter table "queueEntry" add column "later" text;
alter table "event" add column "later" text;
alter table "delivery" add column "later" text;
alter table "node" add column "later" text;
create index "message_later" on "message" ("later", "id");
`,
}
/** What the release after it takes away, for which the one before it has no use any more. */
const contract = {
  number: 9002,
  name: 'contract',
  breaking: true,
  unusedSince: 9001,
  sql: `drop table "spare";\nalter table "thread" drop column "later";\n`,
}
/** Mail and sends that go on all the time, each at a node that is there; who is refused or cut off tries again at another. */
function startLoad(nodes: () => readonly TestDaemon[], to: { id: string; address: string; token: string }) {
  const brought: string[] = []
  const sent: string[] = []
  const refused: string[] = []
  let isEnding = false
  const keepOn = async (name: string, once: (node: TestDaemon, subject: string) => Promise<boolean>) => {
    for (let n = 0; !isEnding; n++) {
      const subject = `${name}${n}`
      let isDone = false
      for (let tried = 0; !isDone && !isEnding; tried++) {
        const up = nodes()
        const node = up[(n + tried) % up.length]
        if (node) isDone = await once(node, subject).catch(() => false)
        await loadRest()
      }
    }
  }
  const bring = (name: string) =>
    keepOn(name, async (node, subject) => {
      const dialog = await greetedDialog(node.smtpPort)
      await dialog.envelope('bob@example.net', to.address)
      const { code, text } = await dialog.data(
        `From: bob@example.net\r\nMessage-ID: <${subject}@example.net>\r\nSubject: ${subject}\r\n\r\nhello\r\n`,
      )
      dialog.end()
      if (code === 250) brought.push(subject)
      else refused.push(text)
      return code === 250
    })
  const keys = new Map<string, string>()
  const send = (name: string, recipient: string) =>
    keepOn(name, async (node, subject) => {
      const key = keys.get(subject) ?? randomUUID()
      keys.set(subject, key)
      const body = { to: recipient, subject, body: 'b' }
      const answer = await apiOf(node.baseUrl, to.token).send(to.id, body, key)
      if (answer.status === 200) sent.push(subject)
      else refused.push(JSON.stringify(answer.body))
      return answer.status === 200
    })
  const all = [bring('mail'), send('send', 'x@theirs1.example')]
  return {
    brought,
    sent,
    /** What was answered otherwise than with yes by a node that was there. */
    refused,
    /** Waits until at least so many more of each were taken. */
    async more(count = 3) {
      const [mails, sends] = [brought.length, sent.length]
      await until(
        'more mail and sends',
        () => brought.length >= mails + count && sent.length >= sends + count,
        60_000,
      )
    },
    async end() {
      isEnding = true
      await Promise.all(all)
    },
  }
}

t.test(
  'two nodes are upgraded from the commit before, one after the other, and back, while mail comes and goes',
  { skip: without('postgres') || withoutCommitBefore() },
  async t => {
    const before = await programsBefore(t)
    const [expanded = '', contracted = ''] = programsWithSteps(t, [expand], [expand, contract])
    const server = await startTheirServer(t)
    let [a, b] = (await startNodes(t, 2, { ...server, programs: before })) as [TestDaemon, TestDaemon]
    const ann = await createInbox(a, 'ann')
    const { token } = await a.createKey()
    const up = new Set([a, b])
    const load = startLoad(() => [...up], { id: ann.id, address: ann.address, token })
    /** As an operator does it: the others go on. */
    const change = async (one: TestDaemon, programs: string) => {
      up.delete(one)
      await one.ctl('node', 'drain', readFileSync(join(one.dataDir, 'node'), 'utf8').trim())
      t.equal(await one.end('SIGTERM'), 0)
      const next = await one.restart(programs)
      up.add(next)
      return next
    }
    /** A node that ended, with programs that do not start now: what they say. */
    const refusedStart = async ({ configPath }: TestDaemon, programs: string) => {
      const said = await runProgram(process.execPath, [join(programs, 'mailboxd.js'), '--config', configPath])
      t.equal(said.code, 1, said.stderr)
      return said.stderr
    }
    const stop = async (one: TestDaemon) => {
      up.delete(one)
      t.equal(await one.end('SIGTERM'), 0)
    }
    try {
      await load.more()
      await t.test(
        'the newer one expands the schema while the older one runs, which starts again on it; and back',
        async t => {
          b = await change(b, expanded)
          await load.more()
          up.delete(b)
          await load.more()
          up.add(b)
          a = await change(a, before)
          await load.more()
          const { data } = (await b.ctl('node', 'list')) as { data: { version: string; state: string }[] }
          t.strictSame(
            data.map(({ state }) => state),
            ['up', 'up'],
          )
          t.equal(new Set(data.map(({ version }) => version)).size, 2)
          // All run the older one on the newer schema.
          b = await change(b, before)
          await load.more()
        },
      )
      await t.test('what takes something away waits until nobody runs who needs it', async t => {
        await stop(a)
        t.match(
          await refusedStart(a, contracted),
          /step 9002 \(contract\) these nodes.*\(\w+, version 0\.1\.0\+\w+\)/,
        )
        await load.more()
        // Nobody is there meanwhile.
        b = await change(b, expanded)
        a = await a.restart(contracted)
        up.add(a)
        await load.more()
        up.delete(a)
        await load.more()
        up.add(a)
        await stop(b)
        t.match(
          await refusedStart(b, before),
          /the database has migration 9002 \(contract\) of a newer mailboxd/,
        )
        b = await b.restart(expanded)
        up.add(b)
        await load.more()
      })
    } finally {
      if (up.size === 0) up.add(a)
      await load.end()
    }
    const listed = async () => {
      const subjects: string[] = []
      for (let offset = 0; ; offset += 100) {
        const api = apiOf(a.baseUrl, token)
        const page = await api.get(
          `/v1/inboxes/${ann.id}/messages?direction=inbound&limit=100&offset=${offset}`,
        )
        subjects.push(...page.body.data.map((one: { subject: string }) => one.subject))
        if (page.body.data.length < 100) return subjects
      }
    }
    const inbox = await listed()
    const missing = load.brought.filter(subject => !inbox.includes(subject))
    t.strictSame(missing, [], 'all mail that was taken is there')
    const isSent = () => load.sent.every(subject => server.taken.includes(subject))
    await until('all that was sent', isSent, 90_000)
    t.strictSame(
      server.taken.filter((subject, at) => server.taken.indexOf(subject) !== at),
      [],
      'and nothing went out twice',
    )
    t.strictSame(load.refused, [], 'who was there refused nothing')
    t.comment(`${load.brought.length} mails, ${load.sent.length} sends`)
    t.match(await a.ctl('verify'), { ok: true })
  },
)
