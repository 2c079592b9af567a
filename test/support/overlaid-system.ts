import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Finished, runProgram } from './program.ts'

/**
 * Runs a shell script as root of a machine that is this one, but for what the script changes: that is written to `dir`, and
 * gone with it. Nothing of /run, /proc/<pid> or the services of this machine is there. Needs root.
 * @param given files that the script finds in /given
 */
export async function runInOverlaidSystem(
  dir: string,
  script: string,
  given: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  const files = Object.entries(given).map(
    ([name, path]) => `touch "$root/given/${name}"; mount --bind '${path}' "$root/given/${name}"\n`,
  )
  const boot = `set -e
mount -t tmpfs overlaid '${dir}'
mkdir '${dir}/upper' '${dir}/work' '${dir}/root'
root='${dir}/root'
mount -t overlay overlay -o "lowerdir=/,upperdir=${dir}/upper,workdir=${dir}/work" "$root"
mount --rbind /proc "$root/proc"
mount -t tmpfs run "$root/run"
mount -t tmpfs tmp "$root/tmp"
mkdir -p "$root/given"
${files.join('')}cat > "$root/tmp/script"
exec chroot "$root" sh -e /tmp/script
`
  const file = join(dir, 'boot')
  writeFileSync(file, boot)
  return runProgram('unshare', ['--mount', '--propagation', 'private', 'sh', file], script, {
    timeoutMs: 120_000,
  })
}
