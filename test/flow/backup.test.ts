import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openReader } from '../../lib/store/open.ts'
import { apiOf } from '../support/api.ts'
import { builtProgram } from '../support/built.ts'
import { findContradictions } from '../support/consistency.ts'
import { startDaemon } from '../support/daemon.ts'
import { runProgram } from '../support/program.ts'
import { openDialog } from '../support/smtp-dialog.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

const largeText = `${'x'.repeat(998)}\r\n`.repeat(300)
const ctl = (...args: string[]) => runProgram(process.execPath, [builtProgram('mailboxctl'), ...args])

/** The bytes of each raw of a data directory by their Message-ID. */
async function rawsOf(dataDir: string): Promise<Map<string, Buffer>> {
  const { read, close } = await openReader(join(dataDir, 'mailboxd.sqlite'))
  try {
    const rows = await read.selectFrom('raw').selectAll().execute()
    return new Map(
      rows.map(({ id, content }) => {
        const bytes = content ?? readFileSync(join(dataDir, 'raw', id.slice(-2), id))
        return [/^Message-ID: (.*)\r$/m.exec(bytes.toString('latin1'))?.[1] ?? id, bytes]
      }),
    )
  } finally {
    await close()
  }
}

t.test(
  'a backup under load, another that builds on it, and both restored: every message is there',
  async t => {
    const daemon = await startDaemon(t)
    const { token } = await daemon.createKey()
    const api = apiOf(daemon.baseUrl, token)
    const inbox = (await api.post('/v1/inboxes', { mailboxName: 'ann' })).body
    const sent = new Map<string, string>()
    const deleted = new Set<string>()
    let isOver = false

    /** Sends mail, every third message a file, until it is over; every fifth is deleted by the API at once. */
    const load = async (name: string) => {
      const dialog = await openDialog(daemon.smtpPort)
      await dialog.reply()
      await dialog.say('EHLO client.example')
      for (let index = 0; !isOver; index++) {
        const messageId = `<${name}-${index}@client.example>`
        const text = index % 3 === 0 ? largeText : `Number ${index}.\r\n`
        const content = `Message-ID: ${messageId}\r\nSubject: ${name} ${index}\r\n\r\n${text}end`
        await dialog.envelope('bob@example.net', inbox.address)
        if ((await dialog.data(content)).code === 250) sent.set(messageId, `${content}\r\n`)
        if (index % 5 === 3) {
          const newest = (await api.get(`/v1/inboxes/${inbox.id}/messages?limit=3`)).body.data
          for (const message of newest) {
            deleted.add(message.rfcMessageId)
            await api.delete(`/v1/messages/${message.id}`)
          }
        }
      }
      dialog.vanish()
    }
    const loads = ['a', 'b', 'c'].map(load)
    const dir = temporaryDir(t)
    const first = join(dir, 'first.tar.zst')
    const second = join(dir, 'second.tar.zst')
    await until('some mail', () => sent.size > 12)

    const promised = [...sent.keys()]
    const full = await daemon.ctl('backup', first)
    t.match(full, { base: null, hasKey: true, missing: [] })
    const between = sent.size
    await until('more mail', () => sent.size > between + 8)
    const promisedLater = [...sent.keys()]
    const increment = await daemon.ctl('backup', second, '--base', first)
    t.match(increment, { base: { id: full.id }, missing: [] })
    t.ok(Number(increment.filesHere) < Number(increment.files), 'files of the first are not in the second')
    isOver = true
    await Promise.all(loads)
    t.match(await daemon.ctlResult('backup', first), { code: 1, stderr: /is there already/ })
    const empty = `${first}.broken-off`
    writeFileSync(empty, '')
    t.match(await daemon.ctlResult('backup', empty), { code: 0 }, 'what a full disk left blocks nothing')
    const onNothing = `${first}.on-nothing`
    t.match(await daemon.ctlResult('backup', onNothing, '--base', `${first}.gone`), { code: 1 })
    t.notOk(existsSync(onNothing), 'no file for a backup whose base is not there')

    const places = [join(dir, 'one'), join(dir, 'two')] as const
    for (const place of places) mkdirSync(place, { mode: 0o700 })
    const restored = [
      await ctl('--data', places[0], '--json', 'restore', first),
      await ctl('--data', places[1], '--json', 'restore', second, first),
    ]
    for (const [at, { code, stderr }] of restored.entries()) t.equal(code, 0, `restored ${at}: ${stderr}`)
    for (const [place, told] of [
      [places[0], promised],
      [places[1], promisedLater],
    ] as const) {
      const raws = await rawsOf(place)
      t.strictSame(
        told.filter(id => !raws.has(id) && !deleted.has(id)),
        [],
        `all of ${told.length} that were promised before are there, but for what was deleted`,
      )
      const wrong = [...raws].filter(([id, bytes]) => bytes.toString('latin1') !== sent.get(id))
      t.strictSame(wrong, [], `each of ${raws.size} byte for byte as it was sent`)
      const { code, stdout } = await ctl('--data', place, '--json', 'status')
      t.equal(code, 0, 'it opens, with its key')
      t.equal(JSON.parse(stdout).inboxes, 1)
      t.strictSame(await findContradictions(place), [], 'nothing contradicts itself')
    }
  },
)

t.test('what can not be restored leaves the place as it was, and says why', async t => {
  const daemon = await startDaemon(t)
  const dir = temporaryDir(t)
  const whole = join(dir, 'whole.tar.zst')
  const later = join(dir, 'later.tar.zst')
  await daemon.ctl('backup', whole)
  await daemon.ctl('backup', later, '--base', whole)
  t.match(await daemon.ctlResult('backup', join(dir, 'keyless.tar.zst'), '--without-key'), {
    code: 0,
    stdout: /"hasKey": false/,
  })
  t.match(await daemon.ctlResult('restore', whole), {
    code: 1,
    stderr: /mailboxd, or another restore, is at work in .*: stop it first \(systemctl stop/,
  })
  const place = join(dir, 'place')
  if (process.getuid?.() === 0)
    t.match(
      await ctl('--data', place, 'restore', whole),
      {
        code: 78,
        stderr: new RegExp(`is not there: make it as the user .* run as: mkdir -m 700 ${place}\n$`),
      },
      'root does not know whose it is to be',
    )
  const none = join(dir, 'none.tar.zst')
  writeFileSync(none, 'no archive')
  mkdirSync(place, { mode: 0o700 })
  const refuse = async (what: string, reason: RegExp, ...files: string[]) => {
    t.match(await ctl('--data', place, 'restore', ...files), { code: 1, stderr: reason }, what)
    t.notOk(existsSync(join(place, 'mailboxd.sqlite')), `${what}: nothing is there`)
    t.notOk(existsSync(join(place, 'secrets.key')))
  }
  await refuse('no archive', /none\.tar\.zst is no backup of mailboxd, or not whole: /, none)
  const cut = join(dir, 'cut.tar.zst')
  const bytes = readFileSync(whole)
  writeFileSync(cut, bytes.subarray(0, bytes.length - 50))
  await refuse(
    'its end is missing',
    /\/cut\.tar\.zst: the archive is cut off, its end is missing: copy it anew, /,
    cut,
  )
  const onNone = await ctl('--config', daemon.configPath, 'backup', join(dir, 'new.tar.zst'), '--base', none)
  t.match(onNone, { code: 1, stderr: /none\.tar\.zst is no backup of mailboxd, or not whole: / })
  await refuse('the base is missing', /builds on that of .* name all of them/, later)

  const keyless = await ctl('--data', place, 'restore', join(dir, 'keyless.tar.zst'))
  t.match(keyless, { code: 1, stderr: '' }, 'a script does not go on to the start, which would fail')
  t.match(
    keyless.stdout,
    /end with 78 until it is there.* install -m 600 -o \S+ secrets\.key \/\S+\/secrets\.key$/m,
  )
  t.match(await ctl('--data', place, 'restore', whole), {
    code: 1,
    stderr: /is not empty \(mailboxd\.sqlite\)/,
  })
  t.match(await ctl('--data', place, 'compact'), { code: 78, stderr: /secrets\.key is missing/ })
  const other = join(dir, 'other')
  mkdirSync(other, { mode: 0o700 })
  const told = await ctl('--data', other, '--json', 'restore', join(dir, 'keyless.tar.zst'))
  t.match(
    { ...told, stdout: JSON.parse(told.stdout) },
    { code: 1, stdout: { hasKey: false, note: /without secrets\.key/ } },
  )
  copyFileSync(join(daemon.dataDir, 'secrets.key'), join(other, 'secrets.key'))
  t.match(await ctl('--data', other, 'compact'), { code: 0 }, 'with the key it is whole')
})
