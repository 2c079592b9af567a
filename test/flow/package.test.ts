import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runInBootedSystem } from '../support/booted-system.ts'
import { makeOlder, packageOfRun } from '../support/debian-package.ts'
import { without } from '../support/peers.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

t.test(
  'the Debian package is installed, run by systemd, upgraded, removed and purged',
  { skip: without('dpkg', 'systemd', 'unshare', 'ip') },
  async t => {
    const made = await packageOfRun()
    const older = makeOlder(made, temporaryDir(t))
    const { deb, tree } = made
    const script = `
said() { echo "== $1"; }
trap 'journalctl --no-pager --unit mailboxd >&2' EXIT
# Nobody pulls the plug here.
said installed
dpkg --force-unsafe-io --install /given/older.deb
stat -c '%A %U %G' /etc/mailboxd
getent passwd mailboxd
mailboxctl --version
zcat /usr/share/man/man8/mailboxctl.8.gz | grep -c '^.B mailboxctl inbox create'
bash -c 'source /usr/share/bash-completion/completions/mailboxctl
  COMP_WORDS=(mailboxctl --json inbox cr) COMP_CWORD=3; _mailboxctl; echo "completed: \${COMPREPLY[*]}"'
ls /etc/systemd/system/*.wants/ | grep mailboxd
systemctl is-active mailboxd mailboxd-smtp.socket mailboxd-http.socket || true
said ran
# A certificate that root alone may read comes as a credential.
install -d -m 700 /etc/credstore
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=mail.ours.example \\
  -addext subjectAltName=DNS:mail.ours.example -keyout /etc/credstore/mailboxd.key.pem -out /etc/credstore/mailboxd.certificate.pem 2> /dev/null
credentials=/run/credentials/mailboxd.service
mailboxctl setup --domain ours.example --hostname mail.ours.example --certificate $credentials/certificate.pem --key $credentials/key.pem --inbox support > /dev/null
systemctl show mailboxd --property User,MainPID,NotifyAccess,WatchdogUSec,LimitCORE,ActiveState
systemd-analyze security --no-pager mailboxd.service | tail -n 1
openssl s_client -starttls smtp -connect 127.0.0.1:25 < /dev/null 2> /dev/null | grep subject
main=$(systemctl show mailboxd --property MainPID --value)
grep -E '^(Uid|CapEff|NoNewPrivs|Seccomp):' /proc/$main/status
said upgraded
echo 'OURS=1' >> /etc/default/mailboxd
# All the while somebody connects anew; nobody is refused.
( while [ ! -e /tmp/upgraded ]; do
    exec 3<> /dev/tcp/127.0.0.1/25 || echo refused
    read -r -t 30 line <&3 && echo "\${line%% *}" || echo closed
    exec 3<&-
    sleep 0.6 # a peer has so many connections a minute
  done > /tmp/connections 2>&1 ) &
until [ -s /tmp/connections ]; do sleep 0.1; done
dpkg --force-unsafe-io --install /given/newer.deb
curl -sS --retry 30 --retry-all-errors --retry-delay 1 http://127.0.0.1:8025/health
echo
touch /tmp/upgraded
wait $!
sort -u /tmp/connections | sed 's/^/connection: /'
[ "$(systemctl show mailboxd --property MainPID --value)" != $main ] && echo 'another process'
tail -n 1 /etc/default/mailboxd
mailboxctl inbox list
said watched
# Whose event loop does not come round is ended and started again.
mkdir -p /etc/systemd/system/mailboxd.service.d
printf '[Service]\\nWatchdogSec=3\\n' > /etc/systemd/system/mailboxd.service.d/sooner.conf
systemctl daemon-reload
systemctl restart mailboxd
main=$(systemctl show mailboxd --property MainPID --value)
kill -STOP $main
# Asked for at once: between two questions it may have ended, and not begun again.
until systemctl show mailboxd --property ActiveState,NRestarts | sort | tr '\\n' ' ' | grep -q '^ActiveState=active NRestarts=[1-9]'; do sleep 0.2; done
systemctl show mailboxd --property NRestarts
rm -r /etc/systemd/system/mailboxd.service.d
said whole
mailboxctl verify > /dev/null && echo 'nothing contradicts itself'
said removed
dpkg --remove mailboxd
ls /usr/lib/mailboxd /usr/bin/mailboxctl 2>&1 | grep -c 'No such file'
systemctl is-active mailboxd mailboxd-smtp.socket mailboxd-http.socket || true
ls -A /etc/mailboxd
said purged
rm -r /etc/credstore
dpkg --purge mailboxd
find / -xdev '(' -path /given -o -path /tmp -o -path /proc -o -name node_modules ')' -prune -o -name '*mailboxd*' -newer /given/script -print
`
    const { code, stdout, stderr } = await runInBootedSystem(temporaryDir(t), script, {
      'older.deb': older,
      'newer.deb': deb,
    })
    t.equal(code, 0, `${stdout}\n${stderr}`)
    const parts = Object.fromEntries(
      stdout
        .split(/^== /m)
        .slice(1)
        .map(part => [part.slice(0, part.indexOf('\n')), part]),
    )
    t.match(parts.installed, /drwxr-x--- root mailboxd/)
    t.match(parts.installed, /mailboxd:x:\d+:\d+:mailboxd mail server:\/var\/lib\/mailboxd/)
    t.match(parts.installed, /does not run yet: mailboxctl setup/)
    t.match(parts.installed, /^1$/m, 'the manual tells of the commands')
    t.match(parts.installed, /^completed: create$/m)
    t.match(parts.installed, /mailboxd-http\.socket\n(.*\n)*mailboxd-smtp\.socket/)
    t.match(parts.installed, /(^inactive\n){3}/m, 'nothing runs that nobody has set up')
    for (const property of ['User=mailboxd', 'ActiveState=active', 'LimitCORE=0', 'WatchdogUSec=1min']) {
      t.match(parts.ran, new RegExp(`^${property}$`, 'm'))
    }
    const exposure = Number(/level for mailboxd\.service: ([\d.]+)/.exec(parts.ran ?? '')?.[1])
    t.ok(exposure <= 1.5, `systemd-analyze security: ${exposure}`)
    t.match(parts.ran, /^subject=CN = mail\.ours\.example$/m, 'the credential is the certificate')
    t.match(parts.ran, /^Uid:\s+[1-9]\d*\b/m)
    t.match(parts.ran, /^CapEff:\s+0{13}400$/m, 'one right: ports below 1024')
    t.match(parts.ran, /^NoNewPrivs:\s+1\nSeccomp:\s+2$/m)
    t.match(parts.upgraded, /"status":"ok"/)
    const connections: string[] = parts.upgraded?.match(/^connection: .*$/gm) ?? []
    t.ok(connections.includes('connection: 220'), connections.join())
    t.notOk(connections.includes('connection: refused'), connections.join())
    t.match(parts.upgraded, /^another process$/m)
    t.match(parts.upgraded, /^OURS=1$/m, 'what was changed in a conffile stays')
    t.match(parts.upgraded, /support@ours\.example/)
    t.match(parts.watched, /^NRestarts=1$/m)
    t.match(parts.whole, /^nothing contradicts itself$/m)
    t.match(parts.removed, /^2\n(inactive\n){3}mailboxd\.toml$/m, 'the configuration stays until the purge')
    t.match(stderr, /the mail in \/var\/lib\/mailboxd was kept/)
    t.notMatch(parts.purged, /\/(etc|usr)\/.*mailboxd/)
    const doc = join(tree, 'usr/share/doc/mailboxd')
    const guides = [...readFileSync(join(doc, 'README.md'), 'utf8').matchAll(/\]\((docs\/[^)#]+)/g)]
    t.ok(guides.length > 10)
    for (const [, path = ''] of guides) t.ok(existsSync(join(doc, path)), path)
    t.match(readFileSync(join(tree, 'DEBIAN/control'), 'utf8'), /^Depends: .*\blibatomic1\b/m)
  },
)
