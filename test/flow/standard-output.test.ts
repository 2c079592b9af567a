import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { builtProgram } from '../support/built.ts'
import { startDaemon } from '../support/daemon.ts'
import { runProgram } from '../support/program.ts'
import { isOnServers } from '../support/server-stories.ts'

t.test('a backup whose reader ends is not whole, and that is said', { skip: isOnServers }, async t => {
  const daemon = await startDaemon(t)
  const command = (...args: string[]) => [
    builtProgram('mailboxctl'),
    `--config=${daemon.configPath}`,
    ...args,
  ]
  const unread = async (...args: string[]) => {
    const child = spawn(process.execPath, command(...args), { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    const closed = once(child, 'close')
    const stderr = await text(child.stderr)
    return { code: (await closed)[0] as number, stderr }
  }
  t.match(await unread('backup', '-'), {
    code: 1,
    stderr: /^the backup is not complete: the standard output took no more of it \(.*EPIPE\)\n$/m,
  })
  t.notOk(existsSync(join(daemon.dataDir, 'backup.sqlite')), 'the copy is gone')
  t.strictSame(await unread('inbox', 'list'), { code: 0, stderr: '' }, 'who has read enough of an answer')

  const intoFull = (...args: string[]) =>
    runProgram('sh', ['-c', '"$@" > /dev/full', 'sh', process.execPath, ...command(...args)])
  for (const args of [['inbox', 'list'], ['--help'], ['config', 'check']]) {
    t.match(await intoFull(...args), {
      code: 70,
      stderr: /^the answer could not be written: .*ENOSPC.*the disk is full.*\n$/,
    })
  }
  const inJson = await intoFull('--json', 'inbox', 'list')
  t.match([inJson.code, JSON.parse(inJson.stderr)], [70, { error: 'machine_fault', message: /ENOSPC/ }])
  t.match(await intoFull('backup', '-'), { code: 70, stderr: /^the backup is not complete: .*ENOSPC.*\n$/m })
})
