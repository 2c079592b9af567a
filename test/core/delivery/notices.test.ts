import t, { type Test } from 'tap'
import { replyLoopMessages } from '../../../lib/base/problem.ts'
import { systemClock } from '../../../lib/base/time.ts'
import { createInbox } from '../../../lib/core/account/inboxes.ts'
import { createKey } from '../../../lib/core/account/keys.ts'
import type { Networked } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { noticeGivenUpMs, noticePutOffMs, tellDueNotices } from '../../../lib/core/delivery/notices.ts'
import { delayNoticeMs, noticeGapMs, noticeGatherMs } from '../../../lib/core/delivery/owed-notices.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { listOwedNotices, settleOwedNotice } from '../../../lib/store/owed-notices.ts'
import { type Script, startPeer } from '../../courier/smtp/scripted-peer.ts'
import { claim } from '../../support/claim.ts'
import { startDns } from '../../support/dns.ts'
import { getPeer, without } from '../../support/peers.ts'
import { freePort } from '../../support/ports.ts'
import { runProgram } from '../../support/program.ts'
import { greetedDialog } from '../../support/smtp-dialog.ts'
import { openDoor } from '../../support/smtp-door.ts'

const needed = { skip: without('python3') }

/** What Python's email reads in each notice, a line of base64: its header, its parts' types, both groups of fields, and what came back. */
const program = `
import base64, email, email.policy, json, sys
for line in sys.stdin:
  message = email.message_from_bytes(base64.b64decode(line), policy=email.policy.default)
  parts = list(message.iter_parts())
  groups = [dict(group.items()) for group in parts[1].get_payload()]
  last = parts[2]
  back = last.get_payload(0).as_string() if last.get_content_type() == 'message/rfc822' else last.get_content()
  print(json.dumps({
    'defects': [str(d) for part in message.walk() for d in part.defects],
    'from': message['From'], 'to': message['To'], 'auto': message['Auto-Submitted'], 'subject': message['Subject'],
    'type': message.get_content_type(), 'report': message.get_param('report-type'),
    'parts': [part.get_content_type() for part in parts],
    'text': parts[0].get_content(), 'groups': groups, 'back': back if isinstance(back, str) else back.decode(),
  }))
`

async function setUp(t: Test, script: Script) {
  const mxPort = await freePort('127.0.0.9')
  const dns = await startDns({
    'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] },
    'mx.theirs.example': { A: ['127.0.0.9'] },
  })
  t.teardown(() => dns.close())
  const peer = await startPeer('127.0.0.9', mxPort, script)
  t.teardown(() => peer.close())
  let offsetMs = 0
  const clock = {
    ...systemClock,
    now: () => new Date(systemClock.now().getTime() + offsetMs),
    monotonicMs: () => systemClock.monotonicMs() + offsetMs,
  }
  const door = await openDoor(t, { dns: dns.server, mxPort, clock, toml: '[delivery]\nmode = "mx"' })
  const { app } = door
  const inbox = await door.inbox('ann')
  const { token } = await createKey(app, operator, { inbox }, null)
  const dialog = await greetedDialog(door.submissionPort)
  await dialog.startTls()
  const ehlo = await dialog.say('EHLO client.example')
  t.match(ehlo.text, /250-DSN/)
  await dialog.say(`AUTH PLAIN ${Buffer.from(`\0ann@ours.example\0${token}`).toString('base64')}`)
  t.teardown(() => dialog.end())
  const submit = async (mail: string, ...rcpt: string[]) => {
    for (const line of [`MAIL FROM:${mail}`, ...rcpt.map(each => `RCPT TO:${each}`), 'DATA']) {
      const { code, text } = await dialog.say(line)
      if (code >= 400) throw new Error(`${line}: ${text}`)
    }
    const { code, text } = await dialog.data(
      'From: Ann <ann@ours.example>\r\nTo: bob@theirs.example\r\nMessage-ID: <m@client.example>\r\nSubject: Grüße\r\n\r\nHello',
    )
    if (code !== 250) throw new Error(text)
  }
  const deliverSome = async (most: number) => {
    for (let n = 0; n < most; n++) {
      const [entry] = await claim(app.queue, 'delivery')
      if (!entry) return
      await deliver(app, entry)
    }
  }
  const deliverAll = () => deliverSome(Number.POSITIVE_INFINITY)
  const notices = async () => {
    const found = (await door.messages()).filter(message => message.category === 'bounce')
    if (found.length === 0) return []
    const raw = await Promise.all(found.map(message => door.raw(message)))
    const asked = raw.map(bytes => `${bytes.toString('base64')}\n`).join('')
    const { code, stdout, stderr } = await runProgram(getPeer('python3'), ['-c', program], asked)
    if (code !== 0) throw new Error(stderr)
    const read = stdout.trimEnd().split('\n')
    return found.map((message, n) => ({ message, ...JSON.parse(read[n]!) }))
  }
  const wait = (ms: number) => {
    offsetMs += ms
  }
  return { ...door, inbox, peer, dialog, submit, deliverAll, deliverSome, notices, wait }
}

t.test(
  'a failure is told to who submitted the mail, in its thread, with what was asked for',
  needed,
  async t => {
    const { submit, deliverAll, notices, app } = await setUp(t, { RCPT: '550 5.1.1 nobody of that name' })
    await submit(
      '<ann@ours.example> RET=FULL ENVID=QQ+2B314',
      '<Bob@theirs.example> NOTIFY=FAILURE ORCPT=rfc822;Robert@theirs.example',
      '<never@theirs.example> NOTIFY=NEVER',
    )
    await deliverAll()
    const [notice, ...others] = await notices()
    t.same(others, [], 'NEVER is heeded')
    t.match(notice, {
      defects: [],
      from: 'Mail Delivery System <mailer-daemon@mail.ours.example>',
      to: 'ann@ours.example',
      auto: 'auto-replied',
      type: 'multipart/report',
      report: 'delivery-status',
      parts: ['text/plain', 'message/delivery-status', 'message/rfc822'],
      text: /Grüße.*bob@theirs\.example.*nobody of that name/s,
    })
    t.match(notice.groups[0], { 'Reporting-MTA': 'dns; mail.ours.example', 'Original-Envelope-Id': 'QQ+314' })
    t.match(notice.groups[1], {
      'Original-Recipient': 'rfc822;Robert@theirs.example',
      'Final-Recipient': 'rfc822; bob@theirs.example',
      Action: 'failed',
      Status: '5.1.1',
      'Remote-MTA': 'dns; mx.theirs.example',
      'Diagnostic-Code': /^smtp; 550 .*nobody of that name/,
    })
    t.match(notice.back, /Hello/)
    const { message } = notice
    t.match(message, {
      mailFrom: '',
      category: 'bounce',
      autoReplyable: 0,
      fromAddr: 'mailer-daemon@mail.ours.example',
    })
    const sent = await app.store.read
      .selectFrom('message')
      .select('threadId')
      .where('direction', '=', 'outbound')
      .executeTakeFirstOrThrow()
    t.equal(message.threadId, sent.threadId)
  },
)

t.test('nothing is told to the null path, nor of what the API sends', needed, async t => {
  const { submit, deliverAll, notices, app, inbox } = await setUp(t, {
    RCPT: '550 5.1.1 nobody of that name',
  })
  await submit('<>', '<bob@theirs.example> NOTIFY=SUCCESS,FAILURE,DELAY')
  await send(app, operator, inbox, { to: 'cara@theirs.example', subject: 's', body: 'b' }, 'one')
  await deliverAll()
  t.same(await notices(), [])
})

t.test(
  'success is told by the last server that can: the next one where it offers DSN, else this one',
  needed,
  async t => {
    let hasDsn = false
    const EHLO = () =>
      `250-peer.test\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n${hasDsn ? '250-DSN\r\n' : ''}250 SIZE`
    const { submit, deliverAll, notices, peer } = await setUp(t, { EHLO })
    const path = '<bob@theirs.example> NOTIFY=SUCCESS,DELAY ORCPT=rfc822;b+2Bx@theirs.example'
    await submit('<ann@ours.example> ENVID=e1', path)
    await deliverAll()
    t.notMatch(peer.commands.join('\n'), /NOTIFY|ORCPT|ENVID/)
    const [relayed] = await notices()
    t.match(relayed.groups[1], { Action: 'relayed', Status: /^2\./, 'Remote-MTA': 'dns; mx.theirs.example' })
    t.same(relayed.parts, ['text/plain', 'message/delivery-status', 'text/rfc822-headers'])
    t.notMatch(relayed.back, /Hello/)

    hasDsn = true
    const again = await setUp(t, { EHLO })
    await again.submit('<ann@ours.example> RET=HDRS ENVID=e2', path)
    await again.deliverAll()
    const said = again.peer.commands.join('\n')
    t.match(said, /MAIL FROM:<b-[a-z0-9]+@bounce\.ours\.example>.* RET=HDRS ENVID=e2/)
    t.match(said, /RCPT TO:<bob@theirs\.example> NOTIFY=SUCCESS,DELAY ORCPT=rfc822;b\+2Bx@theirs\.example/)
    t.same(await again.notices(), [], 'they tell it')
  },
)

t.test('a delay is told once, after hours, with until when it is tried', needed, async t => {
  const { submit, deliverAll, notices, wait } = await setUp(t, { MAIL: '451 4.3.0 later' })
  await submit('<ann@ours.example>', '<bob@theirs.example>')
  await deliverAll()
  t.same(await notices(), [], 'not at the first attempt')
  wait(5 * 3_600_000)
  await deliverAll()
  wait(24 * 3_600_000)
  await deliverAll()
  const [delayed, ...others] = await notices()
  t.same(others, [])
  t.match(delayed.groups[1], { Action: 'delayed', Status: '4.3.0', 'Will-Retry-Until': /\+0000$/ })
  wait(5 * 24 * 3_600_000)
  await deliverAll()
  const [, failed] = await notices()
  t.match(failed.groups[1], { Action: 'failed', Status: '4.4.7' })
  t.match(failed.subject, 'Not delivered: bob@theirs.example')
})

t.test('what is delivered to an inbox here is told so, and parameters are bounded', needed, async t => {
  const { submit, deliverAll, notices, inbox, dialog, app } = await setUp(t, {})
  await createInbox(app, operator, { mailboxName: 'bob' })
  await submit('<ann@ours.example>', '<bob@ours.example> NOTIFY=SUCCESS')
  await deliverAll()
  const told = (await notices()).filter(({ message }) => message.inboxId === inbox)
  t.equal(told.length, 1)
  t.match(told[0].groups[1], { Action: 'delivered', Status: '2.0.0' })
  t.equal((await dialog.say(`MAIL FROM:<ann@ours.example> ENVID=${'x'.repeat(101)}`)).code, 501)
  t.equal((await dialog.say('MAIL FROM:<ann@ours.example> RET=ALL')).code, 501)
  await dialog.say('MAIL FROM:<ann@ours.example>')
  for (const parameter of [
    'NOTIFY=NEVER,FAILURE',
    'NOTIFY=',
    'ORCPT=nobody',
    `ORCPT=rfc822;${'x'.repeat(600)}`,
    'X=1',
  ])
    t.match((await dialog.say(`RCPT TO:<bob@theirs.example> ${parameter}`)).text, /^5\d\d /, parameter)
})

t.test('what was delivered is not sent again because its notice could not be made', async t => {
  const { submit, app, peer } = await setUp(t, {})
  await submit('<ann@ours.example>', '<bob@theirs.example> NOTIFY=SUCCESS')
  const [entry] = await claim(app.queue, 'delivery')
  const broken: Networked = Object.create(app, {
    mailReader: {
      get() {
        throw new Error('as the test says')
      },
    },
  })
  await deliver(broken, entry!)
  t.equal(peer.messages.length, 1)
  t.strictSame(await app.store.read.selectFrom('queueEntry').select('id').execute(), [])
  t.match(await app.store.read.selectFrom('delivery').select('state').execute(), [{ state: 'delivered' }])
})

const paths = (count: number, parameters: string) =>
  Array.from({ length: count }, (_, n) => `<u${n}@theirs.example> ${parameters}`)

t.test(
  'what became of many recipients of one message is one notice, and none is left out',
  needed,
  async t => {
    const { submit, deliverAll, notices, peer, app } = await setUp(t, {
      RCPT: () => (/u[0-4]@/.test(peer.commands.at(-1)!) ? '250 2.1.5 ok' : '550 5.1.1 nobody of that name'),
    })
    await submit('<ann@ours.example> RET=FULL ENVID=many', ...paths(100, 'NOTIFY=SUCCESS,FAILURE'))
    await deliverAll()
    const [notice, ...others] = await notices()
    t.same(others, [])
    t.match(notice, { defects: [], subject: /^Not delivered: u\d+@theirs\.example and 99 others$/ })
    t.match(notice.groups[0], { 'Original-Envelope-Id': 'many' })
    const told = new Map(
      notice.groups.slice(1).map((group: Record<string, string>) => [group['Final-Recipient'], group.Action]),
    )
    t.equal(told.size, 100)
    for (let n = 0; n < 100; n++) {
      t.equal(told.get(`rfc822; u${n}@theirs.example`), n < 5 ? 'relayed' : 'failed')
      t.ok(notice.text.includes(`<u${n}@theirs.example>`))
    }
    t.match(notice.back, /Hello/)
    t.strictSame(await tellDueNotices(app), 0)
  },
)

t.test('what is known is told after a while, and the rest later, in few notices', needed, async t => {
  const { submit, deliverAll, deliverSome, notices, wait, app } = await setUp(t, {
    RCPT: '550 5.1.1 nobody of that name',
  })
  await submit('<ann@ours.example>', ...paths(6, 'NOTIFY=FAILURE'))
  await deliverSome(2)
  t.same(await notices(), [], 'others are about to be tried')
  const { id: messageId } = await app.store.read.selectFrom('message').select('id').executeTakeFirstOrThrow()
  const [owed] = await listOwedNotices(app.store.read, messageId)
  const settle = (notify: string | null) =>
    app.store.write(db => settleOwedNotice(db, { id: owed!.id, notify }, { notify, noticeAt: null }))
  t.equal(await settle('{}'), false, 'of a delivery that has gone on since it was read nothing is noted')
  t.strictSame((await listOwedNotices(app.store.read, messageId))[0], owed)
  await tellDueNotices(app)
  t.same(await notices(), [])
  wait(noticeGatherMs)
  await tellDueNotices(app)
  const groups = async () => (await notices()).map(notice => notice.groups.length - 1)
  t.strictSame(await groups(), [2])
  await deliverSome(3)
  await deliverAll()
  await tellDueNotices(app)
  t.strictSame(await groups(), [2], 'not one after the other')
  wait(noticeGapMs)
  await Promise.all([tellDueNotices(app), tellDueNotices(app)])
  t.strictSame(await groups(), [2, 4], 'and once, whoever tells it')
})

t.test('a delay of which others are waited for is told once, unless it is over by then', needed, async t => {
  for (const [end, told] of [
    ['451 4.3.0 later', ['delayed']],
    ['250 2.1.5 ok', []],
    ['550 5.1.1 nobody of that name', []],
  ] as const) {
    let RCPT = '451 4.3.0 later'
    const { submit, deliverAll, notices, wait, app } = await setUp(t, { RCPT: () => RCPT })
    await submit('<ann@ours.example>', ...paths(2, 'NOTIFY=DELAY'))
    const rows = await app.store.read.selectFrom('delivery').select(['id', 'recipient']).execute()
    const [bob, untried] = rows.toSorted((one, other) => (one.recipient < other.recipient ? -1 : 1))
    await app.store.write(db => app.queue.hold(db, untried!.id))
    await deliverAll()
    wait(delayNoticeMs + 1)
    await deliverAll()
    RCPT = end
    const entry = await app.store.read
      .selectFrom('queueEntry')
      .selectAll()
      .where('subjectId', '=', bob!.id)
      .executeTakeFirstOrThrow()
    await app.store.write(db => app.queue.hurry(db, entry))
    await deliverAll()
    t.same(await notices(), [], 'the other one is about to be tried')
    wait(noticeGatherMs)
    await tellDueNotices(app)
    const actions = (await notices()).map(({ groups }) => groups[1].Action)
    t.strictSame(actions, told, end)
  }
})

t.test('where a bound against loops keeps a notice out it is told when that is over', needed, async t => {
  const { submit, deliverAll, notices, wait, app } = await setUp(t, { RCPT: '550 5.1.1 nobody of that name' })
  for (let n = 0; n < replyLoopMessages + 5; n++) {
    await submit('<ann@ours.example>', `<u${n}@theirs.example>`)
    await deliverAll()
  }
  t.equal((await notices()).length, replyLoopMessages, 'all of one thread')
  wait(noticePutOffMs + 1)
  await tellDueNotices(app)
  t.equal((await notices()).length, replyLoopMessages + 5)
})

t.test('a notice for which the inbox is full is told when it has room', needed, async t => {
  const { submit, app, deliverAll, notices, wait, log } = await setUp(t, {
    RCPT: '550 5.1.1 nobody of that name',
  })
  await submit('<ann@ours.example>', '<bob@theirs.example>')
  const storage = { ...app.config.storage, inbox_bytes: 1 }
  const full: Networked = Object.create(app, { config: { value: { ...app.config, storage } } })
  const [entry] = await claim(app.queue, 'delivery', 1)
  await deliver(full, entry!)
  await deliverAll()
  t.match(
    log.find(({ msg }) => msg === 'notice not let in'),
    { reply: /4\.2\.2/ },
  )
  wait(noticePutOffMs + 1)
  await tellDueNotices(full)
  t.strictSame(await notices(), [])
  wait(noticePutOffMs + 1)
  await tellDueNotices(app)
  t.equal((await notices()).length, 1)
})

/** The app as it is when nothing can be read of a message. */
function brokenReader(app: Networked): Networked {
  return Object.create(app, {
    mailReader: {
      get() {
        throw new Error('as the test says')
      },
    },
  })
}

t.test('a notice that could not be made after the record is told later', needed, async t => {
  const { submit, app, notices, wait, log } = await setUp(t, {})
  await submit('<ann@ours.example>', '<bob@theirs.example> NOTIFY=SUCCESS')
  const [entry] = await claim(app.queue, 'delivery')
  const unread: Networked = Object.create(app, {
    store: {
      value: Object.create(app.store, {
        read: {
          get() {
            if (new Error().stack?.includes('tellNotices')) throw new Error('the database can not be read')
            return app.store.read
          },
        },
      }),
    },
  })
  await deliver(unread, entry!)
  t.equal((await notices()).length, 0)
  t.notOk(log.some(({ msg }) => /lease/.test(String(msg))))
  wait(1)
  await tellDueNotices(app)
  t.equal((await notices()).length, 1)
  await tellDueNotices(app)
  t.equal((await notices()).length, 1, 'once')
})

t.test('a notice that can not be made is given up after days, which is said once', async t => {
  const { submit, app, deliverAll, wait, log } = await setUp(t, { RCPT: '550 5.1.1 nobody of that name' })
  await submit('<ann@ours.example>', '<bob@theirs.example>')
  const broken = brokenReader(app)
  const [entry] = await claim(app.queue, 'delivery')
  await deliver(broken, entry!)
  await deliverAll()
  const hours = Math.ceil(noticeGivenUpMs / noticePutOffMs) + 2
  let tried = 0
  for (let n = 0; n < hours; n++) {
    wait(noticePutOffMs + 1)
    tried += await tellDueNotices(broken)
  }
  t.ok(tried >= hours - 3 && tried < hours, `${tried} of ${hours}`)
  const said = log.map(({ msg }) => String(msg)).filter(msg => /a notice/.test(msg))
  t.strictSame(said, ['a notice could not be made', 'a notice is given up: it could not be told'])
  const rows = await app.store.read.selectFrom('delivery').select(['notify', 'noticeAt']).execute()
  t.match(rows, [{ noticeAt: null }])
  t.notMatch(rows[0]?.notify, /owed/)
})
