import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const module = join(import.meta.dirname, '..', '..', 'lib', 'base', 'file-permissions.ts')

t.test(
  'what is missing or another user has is told without giving away a directory of others',
  { skip: process.getuid?.() === 0 ? false : 'only root can become another user' },
  async t => {
    const dir = temporaryDir(t)
    chmodSync(dir, 0o755)
    /** As it is told to the user "nobody". */
    const told = async (path: string, use: 'read' | 'write', dataDir: string) => {
      const said = await runProgram(process.execPath, [
        '--input-type=module',
        '-e',
        `const { findForbidden } = await import(${JSON.stringify(module)})
        process.setgroups([65534]); process.setgid(65534); process.setuid(65534)
        console.log(JSON.stringify(findForbidden(${JSON.stringify(path)}, '${use}', ${JSON.stringify(dataDir)}) ?? null))`,
      ])
      t.equal(said.stderr, '')
      return JSON.parse(said.stdout) as { message: string; paste: string } | null
    }
    // Debian calls the group of nobody otherwise than the user.
    const group = /^([^:]+):[^:]*:65534:/m.exec(readFileSync('/etc/group', 'utf8'))?.[1]
    const install = (path: string) => `install -d -m 700 -o nobody -g ${group} ${path}`

    for (const path of ['/nodir', join(dir, 'data'), join(dir, 'a', 'b', 'data')]) {
      t.match(await told(path, 'write', path), { message: `${path} is not there`, paste: install(path) })
      t.equal(await told(path, 'read', path), null)
    }
    t.match(await told('/', 'write', '/'), { message: /holds other things/, paste: install('/mailboxd') })
    t.match(await told('/root', 'write', '/root'), { paste: install('/root/mailboxd') })
    // Who pastes what is said gives away neither a file of the system nor the home of root.
    const elsewhere = {
      message: /Let it be a directory of nobody, such as /,
      paste: install('/var/lib/mailboxd'),
    }
    t.match(await told('/root/data', 'write', '/root/data'), elsewhere)
    t.match(await told('/etc/passwd', 'write', '/etc/passwd'), elsewhere)
    t.match(await told('/root/cert.pem', 'read', '/var/lib/mailboxd'), {
      paste: /^chgrp .* \/root && chmod g\+x \/root$/,
    })

    const theirs = join(dir, 'theirs.key')
    writeFileSync(theirs, '', { mode: 0o600 })
    t.match(
      await told(theirs, 'read', join(dir, 'data')),
      { paste: `chgrp ${group} ${theirs} && chmod g+r ${theirs}` },
      "what is only read stays its owner's",
    )

    const shared = join(dir, 'shared')
    mkdirSync(shared)
    const whole = `chown -R nobody: ${shared}`
    t.match(await told(shared, 'write', shared), { paste: whole }, 'an empty one')
    mkdirSync(join(shared, 'lost+found'))
    t.match(await told(shared, 'write', shared), { paste: whole }, 'an empty disk')
    writeFileSync(join(shared, 'theirs'), '')
    t.match(await told(shared, 'write', shared), { paste: install(join(shared, 'mailboxd')) })
    const lock = join(shared, 'daemon.lock')
    writeFileSync(lock, '', { mode: 0o600 })
    t.match(await told(shared, 'write', shared), { paste: whole }, 'an installation')

    chownSync(shared, 65_534, 65_534)
    t.match(await told(lock, 'write', shared), { paste: whole })
    t.match(await told(lock, 'read', shared), { paste: whole })
    mkdirSync(join(shared, 'raw'), { mode: 0o755 })
    t.match(await told(join(shared, 'raw', 'ab'), 'write', shared), { paste: whole })
  },
)
