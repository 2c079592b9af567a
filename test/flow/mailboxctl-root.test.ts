import { chmodSync, chownSync, globSync, lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { builtProgram } from '../support/built.ts'
import { startDaemon } from '../support/daemon.ts'
import { runProgram } from '../support/program.ts'

/** The user "nobody", who has nothing else here. */
const owner = 65_534

t.test(
  'root that runs mailboxctl becomes the user whose data it is',
  { skip: process.getuid?.() === 0 ? false : 'only root can become another user' },
  async t => {
    const daemon = await startDaemon(t)
    await daemon.end('SIGTERM')
    chmodSync(dirname(daemon.dataDir), 0o755)
    const all = () => [
      daemon.dataDir,
      ...globSync('**/*', { cwd: daemon.dataDir }).map(name => join(daemon.dataDir, name)),
    ]
    for (const path of all()) chownSync(path, owner, owner)
    // SQLite gives its own files to whom the database belongs; the key is a file of ours.
    for (const command of [
      'inbox create --mailbox-name ann',
      'verify',
      'secrets rotate --yes',
      'key create',
    ]) {
      const { code, stderr } = await daemon.ctlResult(...command.split(' '))
      t.equal(code, 0, `${command}: ${stderr}`)
      const others = all().filter(path => lstatSync(path).uid !== owner || lstatSync(path).gid !== owner)
      t.strictSame(others, [], `after ${command} nothing there is root's`)
    }
    // Somebody else on the machine: the data are there, and it is not said that they are not.
    const program = builtProgram('mailboxctl')
    const bySomebody = (...command: string[]) =>
      runProgram('setpriv', ['--reuid=12345', '--regid=12345', '--clear-groups', '--', ...command], '', {
        env: { HOME: '/nonexistent' },
      })
    // A checkout of root's is nobody else's to run.
    if ((await bySomebody('test', '-r', program)).code !== 0) return
    t.match(await bySomebody(process.execPath, program, '--data', daemon.dataDir, 'status'), {
      code: 1,
      stderr:
        /^permission denied, .* \(EACCES\): this user may not: run it as root, or as the user that mailboxd runs as\n$/,
    })
  },
)
