import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { builtProgram } from '../support/built.ts'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import { createInbox } from '../support/mailbox.ts'
import { runProgram } from '../support/program.ts'
import { isOnServers } from '../support/server-stories.ts'
import { openDialog } from '../support/smtp-dialog.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

const ctl = (...args: string[]) => runProgram(process.execPath, [builtProgram('mailboxctl'), ...args])

/** A backup with files that no compressor makes small, so that half of its bytes are half of its files. */
async function madeBackup(t: Test): Promise<string> {
  const path = join(temporaryDir(t), 'backup')
  await (await daemonWithMail(t)).ctl('backup', path)
  return path
}

async function daemonWithMail(t: Test): Promise<TestDaemon> {
  const daemon = await startDaemon(t)
  const ann = await createInbox(daemon, 'ann')
  const dialog = await openDialog(daemon.smtpPort)
  await dialog.reply()
  await dialog.say('EHLO client.example')
  for (let count = 0; count < 4; count++) {
    await dialog.envelope('bob@example.net', ann.address)
    const text = randomBytes(400_000).toString('base64').replace(/.{76}/g, '$&\r\n')
    t.match(await dialog.data(`Subject: Large\r\n\r\n${text}`), { code: 250 })
  }
  dialog.vanish()
  return daemon
}

/** A restore that has had half of its archive, and what gives it the rest. */
async function halfRestored(place: string, archive: Buffer) {
  const child = spawn(process.execPath, [builtProgram('mailboxctl'), '--data', place, 'restore', '-'], {
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    stderr += text
  })
  child.stdin.on('error', () => {})
  const exited = once(child, 'close')
  const half = Math.floor(archive.length / 2)
  child.stdin.write(archive.subarray(0, half))
  await until('files of it to be there', () => existsSync(join(place, 'raw')) || child.exitCode !== null)
  return {
    async end(act: () => void) {
      act()
      const [code, signal] = await exited
      return { code: code ?? signal, stderr }
    },
    rest: () => void child.stdin.end(archive.subarray(half)),
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
  }
}

t.test('where half of a backup stands nothing else begins', { skip: isOnServers }, async t => {
  const path = await madeBackup(t)
  const archive = readFileSync(path)
  const place = join(temporaryDir(t), 'place')
  mkdirSync(place, { mode: 0o700 })
  const commands = [
    ['status'],
    ['verify'],
    ['doctor'],
    ['inbox', 'list'],
    ['backup', `${path}.again`],
    ['compact'],
  ]
  const refused = async (t: Test, reason: RegExp) => {
    const daemon = [builtProgram('mailboxd'), '--data', place, '--port', '0', '--smtp-port', '0']
    const started = await runProgram(process.execPath, daemon, '', { timeoutMs: 15_000 })
    t.match(started, { code: 1, stderr: reason }, 'mailboxd')
    for (const words of commands)
      t.match(await ctl('--data', place, ...words), { code: 1, stderr: reason }, words.join(' '))
    t.notOk(existsSync(join(place, 'mailboxd.sqlite')), 'nobody has made a database')
  }

  await t.test('while it is restored', async t => {
    const restoring = await halfRestored(place, archive)
    await refused(t, /is being restored into .*: wait/)
    t.match(await ctl('--data', place, 'restore', path), { code: 1, stderr: /another restore, is at work/ })
    t.match(await restoring.end(restoring.rest), { code: 0 })
    t.match(await ctl('--data', place, 'verify'), { code: 0 }, 'all of it is there')
  })

  await t.test('when it was killed', async t => {
    const other = join(place, '..', 'other')
    mkdirSync(other, { mode: 0o700 })
    const killed = await halfRestored(other, archive)
    t.match(await killed.end(() => killed.kill('SIGKILL')), { code: 'SIGKILL' })
    const daemon = [builtProgram('mailboxd'), '--data', other, '--port', '0', '--smtp-port', '0']
    const cut = /was cut off, .*: run mailboxctl restore again/
    t.match(await runProgram(process.execPath, daemon, '', { timeoutMs: 15_000 }), { code: 1, stderr: cut })
    for (const words of [['verify'], ['status']])
      t.match(await ctl('--data', other, ...words), { code: 1, stderr: cut }, words.join(' '))
    t.match(await ctl('--data', other, 'restore', path), { code: 0 }, 'it clears what was left')
    t.match(await ctl('--data', other, 'verify'), { code: 0 })
  })

  await t.test('what can be heard leaves nothing', async t => {
    const third = join(place, '..', 'third')
    mkdirSync(third, { mode: 0o700 })
    for (const [signal, code] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
      ['SIGHUP', 129],
    ] as const) {
      const ended = await halfRestored(third, archive)
      t.match(await ended.end(() => ended.kill(signal)), {
        code,
        stderr: `ended by ${signal}: nothing was done\n`,
      })
      t.strictSame(readdirSync(third), [], signal)
    }
  })
})

t.test('a backup that is ended leaves no copy of the database', { skip: isOnServers }, async t => {
  const daemon = await daemonWithMail(t)
  const copy = join(daemon.dataDir, 'backup.sqlite')
  // More than a pipe takes that nobody reads.
  const words = [builtProgram('mailboxctl'), '--config', daemon.configPath, 'backup', '-']
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'] })
  const exited = once(child, 'exit')
  await until('a copy to be made', () => existsSync(copy) || child.exitCode !== null)
  child.kill('SIGTERM')
  t.strictSame(await exited, [143, null])
  t.notOk(existsSync(copy), 'no copy')

  writeFileSync(copy, 'of a backup that was killed')
  t.equal(await daemon.end('SIGTERM'), 0)
  t.match(await daemon.ctlResult('compact'), { code: 0 })
  t.notOk(existsSync(copy), 'compact removes it')
  writeFileSync(copy, 'of a backup that was killed')
  await daemon.restart()
  t.notOk(existsSync(copy), 'and so does a start')
})
