import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageOfRun } from '../support/debian-package.ts'
import { without } from '../support/peers.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const dockerfile = readFileSync(join(import.meta.dirname, '../../Dockerfile'), 'utf8')

/** The instructions of the last stage, each in one line. */
const stage = dockerfile
  .slice(dockerfile.lastIndexOf('\nFROM '))
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .map(line => /^([A-Z]+) (.*)$/.exec(line.trim()))
  .filter(found => found !== null)
  .map(([, name, text]) => ({ name: name!, text: text! }))
const only = (name: string) => stage.find(one => one.name === name)!.text
const json = (text: string): string[] => JSON.parse(text.slice(text.indexOf('[')))

/** What Debian's slim image has, and what the stage installs: the names of these packages and of all that they need. */
function packagesOf(installed: readonly string[]): string[] {
  const form = ['Package', 'Essential', 'Priority', 'Depends', 'Pre-Depends']
    .map(name => `\${${name}}\t`)
    .join('')
    .concat('\n')
  const known = new Map(
    execFileSync('dpkg-query', ['-W', '-f', form], { encoding: 'utf8' })
      .split('\n')
      .map(line => line.split('\t'))
      .map(([name = '', essential, priority, depends, before]) => [
        name,
        { essential, priority, needs: `${depends},${before}` },
      ]),
  )
  const wanted = [...known]
    .filter(([, { essential, priority }]) => essential === 'yes' || priority === 'required')
    .map(([name]) => name)
    .concat('apt', installed)
  const found = new Set<string>()
  for (const name of wanted) {
    if (found.has(name)) continue
    const one = known.get(name)
    if (!one) throw new Error(`${name} is not installed here`)
    found.add(name)
    for (const need of one.needs.split(',')) {
      const either = need.split('|').map(text => text.trim().replace(/[\s:(].*$/, ''))
      const here = either.find(text => known.has(text))
      if (here) wanted.push(here)
    }
  }
  return [...found]
}

/** A root with the files of these packages, as this machine has them, before anything was set up in it. */
function makeRoot(root: string, packages: readonly string[]): void {
  mkdirSync(root)
  for (const name of ['bin', 'lib', 'lib64', 'sbin']) {
    mkdirSync(join(root, 'usr', name), { recursive: true })
    symlinkSync(`usr/${name}`, join(root, name))
  }
  const paths = execFileSync('dpkg', ['-L', ...packages], { encoding: 'utf8', maxBuffer: 2 ** 26 })
    .split('\n')
    .filter(path => /^\/[^.]/.test(path) && !/^\/usr\/share\/(doc|man|locale)\//.test(path))
    .filter(path => !/^\/(bin|lib|lib64|sbin)$/.test(path))
    .map(path => path.slice(1))
  const list = [...new Set(paths)].join('\n')
  const tar = 'tar -C / --no-recursion --ignore-failed-read -c -T - | tar -C "$0" --keep-directory-symlink -x'
  execFileSync('sh', ['-c', tar, root], { input: list, stdio: ['pipe', 'ignore', 'ignore'] })
  const base = join(root, 'usr/share/base-passwd')
  for (const name of ['passwd', 'group'])
    execFileSync('cp', [join(base, `${name}.master`), join(root, `etc/${name}`)])
  // What the packages make when they are set up.
  execFileSync('cp', ['--parents', '/etc/ssl/certs/ca-certificates.crt', root])
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n')
}

t.test(
  'the last stage of the Dockerfile, done by hand in a root of its own, takes mail and tells of its health',
  { skip: without('dpkg', 'unshare', 'ip') },
  async t => {
    const { tree } = await packageOfRun()
    const dir = temporaryDir(t)
    // The user of the image comes through it.
    chmodSync(dir, 0o755)
    const root = join(dir, 'root')
    const commands = stage.filter(({ name }) => name === 'RUN').flatMap(({ text }) => text.split(' && '))
    const installs = commands.find(text => text.startsWith('apt-get install'))!
    const named = installs.split(/\s+/).slice(2)
    makeRoot(root, packagesOf(named.filter(word => !word.startsWith('-'))))
    const done = commands.filter(
      text => !text.startsWith('apt-get ') && !text.startsWith('rm -rf /var/lib/apt'),
    )
    for (const { name, text } of stage) {
      if (name === 'RUN') for (const command of done) execFileSync('chroot', [root, 'sh', '-c', command])
      if (name !== 'COPY') continue
      const [, from, to] = /^--from=build \/image(\S+) (\S+)$/.exec(text)!
      mkdirSync(join(root, to!), { recursive: true })
      execFileSync('cp', ['-a', '--no-preserve=ownership', `${tree}${from}/.`, join(root, to!)])
    }
    // There is no name server for it.
    mkdirSync(join(root, 'etc/mailboxd'))
    writeFileSync(
      join(root, 'etc/mailboxd/mailboxd.toml'),
      'hostname = "mail.ours.example"\naccount_domain = "ours.example"\n[http]\nlisten = ["0.0.0.0:8025"]\n[authentication]\ncheck = false\n',
    )
    const quoted = (words: readonly string[]) =>
      words.map(word => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
    const entry = quoted([...json(only('ENTRYPOINT')), ...json(only('CMD'))])
    const health = quoted(json(only('HEALTHCHECK')))
    const user = only('USER')
    // As compose.yaml has it: nothing can be written but the volume and /tmp, and who is not root may listen on port 25.
    const script = `set -e
root='${root}'
mount --bind "$root" "$root"
mount -t proc proc /proc
mount -t proc proc "$root/proc"
mount -t tmpfs dev "$root/dev"
for name in null zero random urandom; do touch "$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"; done
mount --bind "$root/var/lib/mailboxd" "$root/var/lib/mailboxd"
mount -t tmpfs tmp "$root/tmp" -o mode=1777
mount -o remount,bind,ro "$root"
ip link set lo up
echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start
inside() { setpriv --no-new-privs --inh-caps=-all chroot --userspec='${user}' "$root" env -i PATH=/usr/bin:/bin "$@"; }
inside ${entry} 2> '${dir}/log' &
# Each look is a start of Node: none before the door is there.
for look in $(seq 600); do (exec 3<> /dev/tcp/127.0.0.1/8025) 2> /dev/null && break; sleep 0.1; done
for look in $(seq 60); do inside ${health} && break; sleep 0.5; done
echo '== health'
inside ${health} && echo healthy
inside sh -c 'id -un; touch /etc/written 2> /dev/null || echo sealed'
echo '== version'
inside mailboxctl --version
echo '== inbox'
inside mailboxctl inbox create --mailbox-name ann
exec 3<> /dev/tcp/127.0.0.1/25
say() { printf '%s\\r\\n' "$@" >&3; }
hear() { while read -r line <&3; do case $line in ???-*) ;; *) echo "\${line%% *}"; break ;; esac; done; }
echo '== mail'
hear; say 'EHLO bob.example.net'; hear; say 'MAIL FROM:<bob@example.net>'; hear; say 'RCPT TO:<ann@ours.example>'; hear; say DATA; hear
say 'From: bob@example.net' 'Subject: to the image' '' 'Good morning.' .; hear; say QUIT; hear
inside mailboxctl --json message list ann@ours.example | grep -o '"subject": *"[^"]*"'
echo '== stopped'
kill -TERM $(cat /proc/$!/task/$!/children)
wait $! && echo 'code 0'
`
    writeFileSync(join(dir, 'script'), script)
    const namespaces = [
      '--mount',
      '--pid',
      '--net',
      '--ipc',
      '--uts',
      '--fork',
      '--kill-child',
      '--propagation',
      'private',
    ]
    const { code, stdout, stderr } = await runProgram(
      'unshare',
      [...namespaces, 'bash', join(dir, 'script')],
      '',
      {
        timeoutMs: 120_000,
      },
    )
    t.equal(code, 0, `${stdout}\n${stderr}\n${readFileSync(join(dir, 'log'), 'utf8').slice(-2000)}`)
    const parts = Object.fromEntries(
      stdout
        .split(/^== /m)
        .slice(1)
        .map(part => part.split(/\n(.*)/s, 2)),
    )
    t.equal(parts.health, 'healthy\nmailboxd\nsealed\n')
    t.match(parts.version, /^\d+\.\d+\.\d+\+[0-9a-f]{12}\n$/)
    t.match(parts.inbox, /ann@ours\.example/)
    t.match(parts.mail, /^220\n250\n250\n250\n354\n250\n221\n"subject": *"to the image"\n$/)
    t.match(parts.stopped, /code 0/)
  },
)
