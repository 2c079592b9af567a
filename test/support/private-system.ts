import { appendFileSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Contained, startContained } from './contained.ts'

export interface PrivateSystem {
  /** What the server takes for a directory or file of the system: path there → path here. The path there exists. */
  readonly binds: Readonly<Record<string, string>>
  /** The system users that its package would make. */
  readonly users: readonly string[]
  /** Whom it asks for names, on port 53; 127.0.0.1, where nobody answers, unless told. */
  readonly nameServer?: string
  /** Commands of the shell that come first, in the same namespaces. */
  readonly before?: string
}

/** Numbers that no system hands out by itself (Debian's policy keeps 60000-64999 for what is allocated globally). */
const firstUser = 64_900

/**
 * Starts a server whose paths and users are compiled in, as on a machine of its own: in a mount namespace with its
 * own /etc/passwd, directories of `dir` in place of the system's, and every loopback address with a name. Needs root.
 */
export function startInPrivateSystem(
  dir: string,
  { binds, users, nameServer = '127.0.0.1', before = '' }: PrivateSystem,
  command: string,
  args: readonly string[],
  log = join(dir, 'log'),
): Contained {
  const etc = join(dir, 'etc')
  mkdirSync(etc)
  for (const name of ['passwd', 'group']) copyFileSync(`/etc/${name}`, join(etc, name))
  for (const [index, user] of users.entries()) {
    const id = firstUser + index
    appendFileSync(join(etc, 'passwd'), `${user}:x:${id}:${id}::${dir}:/usr/sbin/nologin\n`)
    appendFileSync(join(etc, 'group'), `${user}:x:${id}:\n`)
  }
  const loopback = Array.from({ length: 32 }, (_, n) => `127.0.0.${n} loopback-${n}.test\n`)
  writeFileSync(join(etc, 'hosts'), `${loopback.join('')}::1 localhost\n`)
  writeFileSync(join(etc, 'resolv.conf'), `nameserver ${nameServer}\noptions timeout:1 attempts:1\n`)

  const all = { ...binds }
  for (const name of ['passwd', 'group', 'hosts', 'resolv.conf']) all[`/etc/${name}`] = join(etc, name)
  const mounts = Object.entries(all).map(([there, here]) => `mount --bind '${here}' '${there}'\n`)
  writeFileSync(join(dir, 'boot'), `set -e\n${mounts.join('')}${before}\nexec "$@"\n`)
  return startContained('sh', [join(dir, 'boot'), command, ...args], { log, mounts: true })
}

/** The user id of the n-th of `users`. */
export function userId(index: number): number {
  return firstUser + index
}
