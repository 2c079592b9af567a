import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeDebianPackage } from '../../packaging/debian.ts'
import { makeProgram } from '../../packaging/program.ts'
import { runInOverlaidSystem } from '../support/overlaid-system.ts'
import { without } from '../support/peers.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64'

t.test(
  'the Debian package is installed, upgraded, removed and purged',
  { skip: without('dpkg', 'sysusers', 'unshare') },
  async t => {
    const work = temporaryDir(t)
    // Nobody waits for a small file here.
    Object.assign(process.env, { DPKG_DEB_COMPRESSOR_TYPE: 'none', SOURCE_DATE_EPOCH: '1700000000' })
    const deb = await makeDebianPackage(makeProgram(work), architecture, { work, to: work })
    const older = join(work, 'older.deb')
    const tree = join(work, `debian-${architecture}`)
    execFileSync('sed', ['-i', 's/^Version: .*/Version: 0.0.1/', join(tree, 'DEBIAN/control')])
    execFileSync('dpkg-deb', ['--root-owner-group', '--build', tree, older], { stdio: 'ignore' })

    const script = `
said() { echo "== $1"; }
# Nobody reads manuals here, or pulls the plug.
rm -f /var/lib/man-db/auto-update
said installed
dpkg --force-unsafe-io --install /given/older.deb
stat -c '%A %U %G' /etc/mailboxd
getent passwd mailboxd
mailboxctl --version
zcat /usr/share/man/man8/mailboxctl.8.gz | grep -c '^.B mailboxctl inbox create'
bash -c 'source /usr/share/bash-completion/completions/mailboxctl
  COMP_WORDS=(mailboxctl --json inbox cr) COMP_CWORD=3; _mailboxctl; echo "completed: \${COMPREPLY[*]}"'
ls /etc/systemd/system/*.wants/ | grep mailboxd
printf 'hostname = "mail.ours.example"\\naccount_domain = "ours.example"\\n[smtp]\\nlisten = ["127.0.0.1:0"]\\n[http]\\nlisten = ["127.0.0.1:0"]\\n' > /etc/mailboxd/mailboxd.toml
chgrp mailboxd /etc/mailboxd/mailboxd.toml
chmod 640 /etc/mailboxd/mailboxd.toml
install -d -o mailboxd -g mailboxd -m 700 /var/lib/mailboxd
said ran
setpriv --reuid=mailboxd --regid=mailboxd --clear-groups mailboxd --config /etc/mailboxd/mailboxd.toml 2> /tmp/log &
daemon=$!
until grep '"msg":"ready"' /tmp/log; do kill -0 $daemon; sleep 0.1; done
mailboxctl inbox create --mailbox-name support
kill $daemon
wait $daemon
said upgraded
echo 'OURS=1' >> /etc/default/mailboxd
dpkg --force-unsafe-io --install /given/newer.deb
tail -n 1 /etc/default/mailboxd
mailboxctl inbox list
said removed
dpkg --remove mailboxd
ls /usr/lib/mailboxd /usr/bin/mailboxctl 2>&1 | grep -c 'No such file'
ls -A /etc/mailboxd
said purged
dpkg --purge mailboxd
find / -xdev -name '*mailboxd*' -not -path '/given/*' -not -path '/tmp/*' -not -path '*/node_modules/*' -newer /tmp/script -print
`
    const { code, stdout, stderr } = await runInOverlaidSystem(temporaryDir(t), script, {
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
    t.match(parts.ran, /support@ours\.example/)
    t.match(parts.upgraded, /^OURS=1$/m, 'what was changed in a conffile stays')
    t.match(parts.upgraded, /support@ours\.example/)
    t.match(parts.removed, /^2\nmailboxd\.toml$/m, 'the configuration stays until the purge')
    t.match(stderr, /the mail in \/var\/lib\/mailboxd was kept/)
    t.notMatch(parts.purged, /\/(etc|usr)\/.*mailboxd/)
    t.match(readFileSync(join(tree, 'DEBIAN/control'), 'utf8'), /^Depends: .*\blibatomic1\b/m)
  },
)
