import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Finished, runProgram } from './program.ts'

/** Units that would change what the machine of the test shares with this one (its kernel), or that it has no need of. */
const masked = [
  'systemd-sysctl.service',
  'systemd-modules-load.service',
  'systemd-random-seed.service',
  'systemd-remount-fs.service',
  'systemd-journal-flush.service',
  'systemd-update-utmp.service',
  'systemd-udevd.service',
  'systemd-udev-trigger.service',
  'systemd-hwdb-update.service',
  'systemd-machine-id-commit.service',
  'sys-kernel-debug.mount',
  'sys-kernel-tracing.mount',
  'sys-fs-fuse-connections.mount',
  'dev-hugepages.mount',
  'tmp.mount',
]

/**
 * Runs a shell script as root of a machine that systemd boots, and that is this one but for what the script changes: its files are
 * written to `dir` and gone with it, its processes end with it, and it has a network of its own, so that every port is free.
 * On its `eth0` it is 193.0.0.25; the rest of the world is in the network namespace `world` (`ip netns exec world`), where
 * 193.0.0.53 is the name server of both, and 193.0.0.26 and 193.0.0.27 are there to be anybody. Needs root.
 * @param given files that the script finds in /given, and directories, of which it finds copies there
 */
export async function runInBootedSystem(
  dir: string,
  script: string,
  given: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  const files = Object.entries(given).map(([name, path]) =>
    statSync(path).isDirectory()
      ? `mkdir "$root/given/${name}" '${dir}/overlay/${name}' '${dir}/overlay/${name}.work'
mount -t overlay overlay -o "lowerdir=${path},upperdir=${dir}/overlay/${name},workdir=${dir}/overlay/${name}.work" "$root/given/${name}"\n`
      : `touch "$root/given/${name}"; mount --bind '${path}' "$root/given/${name}"\n`,
  )
  for (const name of ['stdout', 'stderr']) writeFileSync(join(dir, name), '')
  writeFileSync(join(dir, 'script'), `set -e\ncd /root\n${network}${script}`)
  writeFileSync(
    join(dir, 'boot'),
    `set -e
mkdir '${dir}/overlay'
mount -t tmpfs overlaid '${dir}/overlay'
mkdir '${dir}/overlay/upper' '${dir}/overlay/work' '${dir}/overlay/root'
root='${dir}/overlay/root'
mount -t overlay overlay -o "lowerdir=/,upperdir=${dir}/overlay/upper,workdir=${dir}/overlay/work" "$root"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs run "$root/run"
mount -t tmpfs tmp "$root/tmp" -o mode=1777
mount -t tmpfs dev "$root/dev" -o mode=755
for name in null zero full random urandom tty; do touch "$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"; done
ln -s /proc/self/fd "$root/dev/fd"
ln -s pts/ptmx "$root/dev/ptmx"
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=0666
mount -t tmpfs shm "$root/dev/shm" -o mode=1777
mkdir -p "$root/given"
${files.join('')}for name in script stdout stderr; do touch "$root/given/$name"; mount --bind "${dir}/$name" "$root/given/$name"; done
echo mail > "$root/etc/hostname"
# What somebody's use of mailboxd left here, who may go on with it.
rm -rf "$root/var/cache/mailboxctl" "$root/var/lib/mailboxd" "$root/etc/mailboxd"
# Nobody reads manuals here: the index of them all takes five seconds of a processor.
ln -sf /bin/true "$root/usr/bin/mandb"
# Images of containers say by it that nothing is started or stopped; this is a machine.
rm -f "$root/usr/sbin/policy-rc.d"
rm -rf "$root/etc/systemd/system" "$root/etc/fstab" "$root/etc/resolv.conf"
mkdir -p "$root/etc/systemd/system"
${masked.map(unit => `ln -s /dev/null "$root/etc/systemd/system/${unit}"\n`).join('')}cat > "$root/etc/systemd/system/story.target" <<END
[Unit]
Requires=sysinit.target sockets.target story.service
END
cat > "$root/etc/systemd/system/story.service" <<END
[Unit]
After=sysinit.target sockets.target
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
Environment=HOME=/root DEBIAN_FRONTEND=noninteractive
ExecStart=/bin/bash /given/script
StandardOutput=file:/given/stdout
StandardError=file:/given/stderr
END
# As systemd wants it of who starts it: it hands credentials to units by mounts.
mount --make-rshared "$root"
exec env -i PATH="$PATH" container=test chroot "$root" /usr/lib/systemd/systemd --system --unit=story.target --log-target=null --show-status=0
`,
  )
  const namespaces = ['--mount', '--pid', '--net', '--uts', '--ipc', '--cgroup']
  const { code, stderr } = await runProgram(
    'unshare',
    [...namespaces, '--fork', '--kill-child', '--propagation', 'private', 'sh', join(dir, 'boot')],
    '',
    { timeoutMs: 460_000 },
  )
  const said = (name: string) => readFileSync(join(dir, name), 'utf8')
  return { code, stdout: said('stdout'), stderr: `${stderr}${said('stderr')}` }
}

const network = `ip link set lo up
ip netns add world
ip link add eth0 type veth peer name eth0 netns world
ip address add 193.0.0.25/24 dev eth0
ip link set eth0 up
for address in 26 27 53; do ip -n world address add 193.0.0.$address/24 dev eth0; done
ip -n world link set lo up
ip -n world link set eth0 up
echo 'nameserver 193.0.0.53' > /etc/resolv.conf
`
