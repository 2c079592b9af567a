import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  globSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { openReader } from '../../lib/store/open.ts'
import { apiOf } from '../support/api.ts'
import { builtProgram } from '../support/built.ts'
import { findContradictions } from '../support/consistency.ts'
import { startDaemon } from '../support/daemon.ts'
import { diskFaults } from '../support/disk-faults.ts'
import { createInbox } from '../support/mailbox.ts'
import { runProgram } from '../support/program.ts'
import { greetedDialog, openDialog } from '../support/smtp-dialog.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

const largeText = `${'x'.repeat(998)}\r\n`.repeat(300)
const ctl = (...args: string[]) => runProgram(process.execPath, [builtProgram('mailboxctl'), ...args])

/** The user that a data directory is made for: that of the package, if this machine has it. */
function userId(name: string): string {
  try {
    return execFileSync('id', ['-u', name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return '0'
  }
}

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
  'a backup under load is restored into a directory that is missing: every message is there',
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
    await until('some mail', () => sent.size > 12)

    const promised = [...sent.keys()]
    t.match(await daemon.ctl('backup', first), { hasKey: true, missing: [], damaged: [] })
    isOver = true
    await Promise.all(loads)
    t.match(await daemon.ctlResult('backup', first), {
      code: 1,
      stderr: /exists already, and .* overwrites nothing/,
    })

    const place = join(dir, 'folder', 'data')
    const { code, stderr } = await ctl('--data', place, '--json', 'restore', first)
    t.equal(code, 0, stderr)
    t.equal(statSync(place).mode & 0o777, 0o700, 'a directory that was missing is made')
    const raws = await rawsOf(place)
    t.strictSame(
      promised.filter(id => !raws.has(id) && !deleted.has(id)),
      [],
      `all of ${promised.length} that were promised before are there, but for what was deleted`,
    )
    const wrong = [...raws].filter(([id, bytes]) => bytes.toString('latin1') !== sent.get(id))
    t.strictSame(wrong, [], `each of ${raws.size} byte for byte as it was sent`)
    const status = await ctl('--data', place, '--json', 'status')
    t.equal(status.code, 0, 'it opens, with its key')
    t.equal(JSON.parse(status.stdout).inboxes, 1)
    t.match(await ctl('--data', place, 'verify'), { code: 0 })
    t.strictSame(await findContradictions(place), [], 'nothing contradicts itself')
  },
)

t.test(
  'a backup that was killed is recognised: it is called unfinished, is not restored, and the next one says so',
  async t => {
    const daemon = await startDaemon(t)
    const dir = temporaryDir(t)
    const file = join(dir, 'one.tar.zst')
    const left = `${file}.unfinished`
    const faults = diskFaults(t)
    // It stands still in the last step: all but its name is there.
    faults.set([{ call: 'hold', on: '.unfinished' }])
    const args = [builtProgram('mailboxctl'), '--config', daemon.configPath, 'backup', file]
    const child = spawn(process.execPath, args, { env: { ...process.env, ...faults.env } })
    const ended = once(child, 'exit')
    await until('the archive to be written', () => existsSync(left) && statSync(left).size > 0)
    child.kill('SIGKILL')
    await ended
    t.strictSame(readdirSync(dir), ['one.tar.zst.unfinished'])
    truncateSync(left, statSync(left).size - 20)
    t.match(await ctl('--data', join(dir, 'place'), 'restore', left), {
      code: 1,
      // What stands before the reason depends on how much was written.
      stderr:
        /one\.tar\.zst\.unfinished.*: the archive is cut off, its end is missing: copy it again, or take another/,
    })
    const other = await daemon.ctlResult('backup', join(dir, 'two.tar.zst'))
    t.match(other, {
      code: 0,
      stderr: `left of backups that were cut off, and may be removed if no other backup is being made: ${left}\n`,
    })
    t.match(await daemon.ctlResult('backup', file), { code: 0, stderr: '' })
    t.notOk(existsSync(left), 'the next backup of that name takes its place')
    t.match(await ctl('--data', join(dir, 'three'), 'restore', file), { code: 0 })
  },
)

t.test('a full disk is named with the file, and leaves no half of a backup', async t => {
  const daemon = await startDaemon(t)
  const dir = temporaryDir(t)
  const faults = diskFaults(t)
  const mount = /on the disk that is mounted at \/\S*: make room there/
  const backup = (name: string) =>
    runProgram(
      process.execPath,
      [builtProgram('mailboxctl'), '--config', daemon.configPath, 'backup', join(dir, name)],
      '',
      { env: faults.env },
    )
  for (const [on, named] of [
    ['.unfinished', `no room is left for ${join(dir, 'one')}.unfinished `],
    ['backup.sqlite', `no room is left for ${join(daemon.dataDir, 'backup.sqlite')} `],
  ] as const) {
    faults.set([{ call: 'write', on, with: 'ENOSPC' }])
    const { code, stderr } = await backup('one')
    t.equal(code, 70, stderr)
    t.ok(stderr.startsWith(named), stderr)
    t.match(stderr, mount)
    t.strictSame(readdirSync(dir), [])
  }
  faults.set([], 1)
  t.match(await backup('one'), {
    code: 1,
    stderr: /needs \d+ free bytes next to .* that is mounted at \/\S* has \d+/,
  })
  faults.set([])
  t.match(await backup('one'), { code: 0 })
})

t.test('a backup reports files that are damaged', async t => {
  const daemon = await startDaemon(t)
  const inbox = await createInbox(daemon, 'ann')
  const dialog = await greetedDialog(daemon.smtpPort)
  await dialog.envelope('bob@example.net', inbox.address)
  t.equal((await dialog.data(`Subject: Large\r\n\r\n${largeText}`)).code, 250)
  dialog.vanish()
  const raw = readdirSync(join(daemon.dataDir, 'raw'), { recursive: true, withFileTypes: true }).find(one =>
    one.isFile(),
  )!
  const write = (text: string) => {
    const file = openSync(join(raw.parentPath, raw.name), 'r+')
    writeSync(file, text, 100_000)
    closeSync(file)
  }
  write('y')
  const { code, stdout, stderr } = await daemon.ctlResult('backup', join(temporaryDir(t), 'one'))
  t.match({ code, ...JSON.parse(stdout) }, { code: 1, missing: [], damaged: [raw.name] })
  t.match(
    stderr,
    /the backup is complete, but files were missing or damaged before: mailboxctl verify names them/,
  )
  // The daemon would be blamed for the damage at its end.
  write('x')
})

t.test(
  "root backs up data of the daemon's user into a folder of root, and restores it for that user",
  { skip: process.getuid?.() === 0 ? false : 'only root can become another user' },
  async t => {
    const daemon = await startDaemon(t)
    await daemon.end('SIGTERM')
    chmodSync(dirname(daemon.dataDir), 0o755)
    for (const name of ['', ...globSync('**/*', { cwd: daemon.dataDir })])
      chownSync(join(daemon.dataDir, name), 65_534, 65_534)
    const dir = temporaryDir(t)
    chmodSync(dir, 0o700)
    const file = join(dir, 'one')
    t.match(await daemon.ctlResult('backup', file), { code: 0, stderr: '' })
    t.strictSame(readdirSync(dir), ['one'])
    const others = globSync('**/*', { cwd: daemon.dataDir }).filter(
      name => lstatSync(join(daemon.dataDir, name)).uid === 0,
    )
    t.strictSame(others, [], 'nothing of root is left in the data')
    t.match(await daemon.ctlResult('backup', file), { code: 1, stderr: /exists already/ })

    const place = join(daemon.dataDir, '..', 'restored')
    const config = join(dir, 'other.toml')
    writeFileSync(
      config,
      readFileSync(daemon.configPath, 'utf8').replace(/^data_dir = .*$/m, `data_dir = "${place}"`),
    )
    t.match(await ctl('--config', config, 'restore', file), { code: 0 })
    const { uid, mode } = statSync(place)
    t.strictSame([uid, mode & 0o777], [Number(userId('mailboxd')), 0o700])
    t.equal(statSync(join(place, 'mailboxd.sqlite')).uid, uid)
  },
)

t.test('what can not be restored leaves the place as it was, and says why', async t => {
  const daemon = await startDaemon(t)
  const dir = temporaryDir(t)
  const whole = join(dir, 'whole.tar.zst')
  await daemon.ctl('backup', whole)
  t.match(await daemon.ctlResult('backup', join(dir, 'keyless.tar.zst'), '--without-key'), {
    code: 0,
    stdout: /"hasKey": false/,
  })
  t.match(await daemon.ctlResult('restore', whole), {
    code: 1,
    stderr: /mailboxd, or another restore, is at work in .*: stop it first \(systemctl stop/,
  })
  const place = join(dir, 'place')
  const none = join(dir, 'none.tar.zst')
  writeFileSync(none, 'no archive')
  const refuse = async (what: string, reason: RegExp, file: string) => {
    t.match(await ctl('--data', place, 'restore', file), { code: 1, stderr: reason }, what)
    t.notOk(existsSync(join(place, 'mailboxd.sqlite')), `${what}: nothing is there`)
    t.notOk(existsSync(join(place, 'secrets.key')))
  }
  await refuse('no archive', /none\.tar\.zst is no backup of mailboxd, or not whole: /, none)
  const cut = join(dir, 'cut.tar.zst')
  const bytes = readFileSync(whole)
  writeFileSync(cut, bytes.subarray(0, bytes.length - 50))
  await refuse(
    'its end is missing',
    /\/cut\.tar\.zst: the archive is cut off, its end is missing: copy it again, /,
    cut,
  )
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
  const told = await ctl('--data', other, '--json', 'restore', join(dir, 'keyless.tar.zst'))
  t.match(
    { ...told, stdout: JSON.parse(told.stdout) },
    { code: 1, stdout: { hasKey: false, note: /without secrets\.key/ } },
  )
  copyFileSync(join(daemon.dataDir, 'secrets.key'), join(other, 'secrets.key'))
  t.match(await ctl('--data', other, 'compact'), { code: 0 }, 'with the key it is whole')
})
