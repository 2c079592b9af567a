import { chmodSync, chownSync, globSync, lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { builtProgram } from '../support/built.ts'
import { startDaemon } from '../support/daemon.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

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
    // As by chown without a group.
    chownSync(daemon.dataDir, owner, 0)
    // SQLite gives its own files to whom the database belongs; the key is a file of ours.
    for (const command of [
      'inbox create --mailbox-name ann',
      'verify',
      'secrets rotate --yes',
      'key create',
    ]) {
      const { code, stderr } = await daemon.ctlResult(...command.split(' '))
      t.equal(code, 0, `${command}: ${stderr}`)
      const isOthers = (path: string) =>
        lstatSync(path).uid !== owner || (lstatSync(path).gid !== owner && path !== daemon.dataDir)
      const others = all().filter(isOthers)
      t.strictSame(others, [], `after ${command} nothing there is root's`)
    }
    chownSync(daemon.dataDir, owner, owner)
    const database = join(daemon.dataDir, 'mailboxd.sqlite')
    chownSync(database, 0, 0)
    chmodSync(database, 0o600)
    const told = /mailboxd\.sqlite belongs to root and has the mode 0600: .* As root: chown -R \w+: \S+\n$/
    t.match(await daemon.ctlResult('status'), { code: 1, stderr: told })
    const byOwner = (...command: string[]) =>
      runProgram('setpriv', ['--reuid=65534', '--regid=65534', '--clear-groups', '--', ...command], '', {
        env: { HOME: '/nonexistent' },
      })
    chownSync(daemon.configPath, owner, owner)
    // A checkout of root's is nobody else's to run.
    if ((await byOwner('test', '-r', builtProgram('mailboxd'))).code === 0) {
      const start = [process.execPath, builtProgram('mailboxd'), '--config', daemon.configPath]
      t.match(await byOwner(...start), { code: 1, stderr: told })
    }
    t.match(
      await runProgram(process.execPath, [builtProgram('mailboxd'), '--config', daemon.configPath]),
      {
        code: 1,
        stderr:
          /^mailboxd can not start: (\S+) belongs to another user, .*: runuser -u nobody -- mailboxd --config \S+\n$/,
      },
      'one of root leaves nothing there',
    )
    // The daemon is never told to run as root.
    if ((await byOwner('test', '-r', builtProgram('mailboxd'))).code === 0) {
      const start = () => byOwner(process.execPath, builtProgram('mailboxd'), '--config', daemon.configPath)
      chownSync(daemon.dataDir, 0, 0)
      chmodSync(daemon.dataDir, 0o755)
      t.match(await start(), {
        code: 1,
        stderr:
          /^mailboxd can not start: (\S+) belongs to root and has the mode 0755: .* As root: chown -R \w+: \1\n$/,
      })
      chownSync(daemon.dataDir, owner, owner)
      chmodSync(daemon.dataDir, 0o500)
      const toldOfMode = /(\S+) belongs to \w+ and has the mode 0500: .*As root: chmod u\+rwx \1/
      t.match(await start(), { code: 1, stderr: toldOfMode })
      t.match(await daemon.ctlResult('status'), { code: 1, stderr: /chmod u\+rwx/ })
      t.match(await daemon.ctlResult('config', 'check'), { code: 78, stderr: toldOfMode })
      const examined = await daemon.ctlResult('doctor')
      t.match(JSON.parse(examined.stdout).findings[0], {
        code: 'database_forbidden',
        subject: daemon.dataDir,
        paste: `chmod u+rwx ${daemon.dataDir}`,
      })
      chmodSync(daemon.dataDir, 0o700)
      const key = join(daemon.dataDir, 'secrets.key')
      chownSync(key, 0, 0)
      t.match(await daemon.ctlResult('config', 'check'), {
        code: 78,
        stderr: /secrets\.key belongs to root .* As root: chown -R nobody: \S+\n$/,
      })
      chownSync(key, owner, owner)
      chmodSync(key, 0o000)
      t.match(await daemon.ctlResult('config', 'check'), { code: 78, stderr: /chmod u\+r \S+secrets\.key/ })
      chmodSync(key, 0o600)
    }
    chownSync(database, owner, owner)
    const lock = join(daemon.dataDir, 'daemon.lock')
    chownSync(lock, 0, 0)
    const ofLock = /daemon\.lock belongs to root and has the mode 0600: .* As root: chown -R \w+: \S+\n$/
    t.match(await daemon.ctlResult('status'), { code: 1, stderr: ofLock })
    if ((await byOwner('test', '-r', builtProgram('mailboxctl'))).code === 0) {
      const ctl = [process.execPath, builtProgram('mailboxctl'), '--json', '--config', daemon.configPath]
      const byItself = await byOwner(...ctl, 'doctor')
      t.match(JSON.parse(byItself.stdout).findings[0], { code: 'database_forbidden', subject: lock })
    }
    const doctor = await daemon.ctlResult('doctor')
    t.equal(doctor.code, 2)
    const { findings } = JSON.parse(doctor.stdout) as { findings: { code: string; paste: string | null }[] }
    t.match(
      findings.find(({ code }) => code === 'database_forbidden')?.paste,
      `chown -R nobody: ${daemon.dataDir}`,
    )
    t.ok(findings.some(({ code }) => code === 'not_running'))
    chownSync(lock, owner, owner)
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

t.test(
  'a server that this user may not see, or that is not set up yet, is not taken for local mode',
  { skip: process.getuid?.() === 0 ? false : 'only root can have an /etc of its own' },
  async t => {
    const program = builtProgram('mailboxctl')
    const isPackaged = 'mount -t tmpfs tmpfs /etc && mkdir -m 750 /etc/mailboxd && exec "$@"'
    const onServer = (...command: string[]) =>
      runProgram('unshare', ['--mount', '--', 'sh', '-c', isPackaged, 'sh', ...command], '', {
        env: { HOME: '/nonexistent' },
        cwd: temporaryDir(t),
      })
    const status = await onServer(process.execPath, program, 'status')
    t.match(status, {
      code: 78,
      stderr: /there is no installation in .*: run mailboxctl setup as root, which writes \/etc\/mailboxd/,
    })
    const check = await onServer(process.execPath, program, 'config', 'check')
    t.match(check, { code: 78, stderr: /let mailboxctl setup write its configuration/ })
    const somebody = ['setpriv', '--reuid=12345', '--regid=12345', '--clear-groups', '--']
    // A checkout of root's is nobody else's to run.
    if ((await onServer(...somebody, 'test', '-r', program)).code !== 0) return
    for (const command of [['status'], ['config', 'check']]) {
      t.match(await onServer(...somebody, process.execPath, program, ...command), {
        code: 1,
        stdout: '',
        stderr: /^permission denied, .*\/etc\/mailboxd.* \(EACCES\): this user may not: run it as root/m,
      })
    }
  },
)
