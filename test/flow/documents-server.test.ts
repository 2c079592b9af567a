import { globSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runInBootedSystem } from '../support/booted-system.ts'
import { architecture, packageOfRun } from '../support/debian-package.ts'
import { type Block, blocksOf, type Exception, scriptOf, unkept } from '../support/documents.ts'
import { without } from '../support/peers.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { withoutWorld, worldFiles } from '../support/world.ts'

const root = join(import.meta.dirname, '..', '..')
const server = blocksOf('README.md').filter(({ section }) => section === 'Run it as a server')
const guides = [
  'install',
  'dns',
  'tls-and-proxy',
  'strangers',
  'bucket',
  'postgres',
  'nodes',
  'retention',
  'monitoring',
  'deliverability',
  'scaling',
  'troubleshooting',
  'backup-and-upgrade',
].map(name => `docs/operators/${name}.md`)
const blocks = [...server, ...guides.flatMap(blocksOf)]

/** Mail from the rest of the Internet. */
const mail =
  "ip netns exec world swaks --server mail.example.com --local-interface 193.0.0.26 --ehlo mx.example.net --from ann@example.net --to hello@example.com --header 'Subject: The first mail' --suppress-data"

/** What is typed and done at the first installation: the commands of the README, each when the one before has ended. */
function installation({ text }: Block): object[] {
  const answers: [see: string, type: string][] = [
    ['domain of your addresses: ', 'example.com'],
    ['own name.*: ', ''],
    ['reach the API.*: ', ''],
    ['elsewhere.*: ', 'ops@example.net'],
    ['TLS certificate .Enter.*: ', ''],
    ['Do you agree.*: ', 'y'],
  ]
  return text
    .trimEnd()
    .split('\n')
    .flatMap(line => {
      const type = line.replace('amd64', architecture)
      if (line.startsWith('mailboxctl setup')) {
        return [
          { see: 'next> ', type },
          ...answers.map(([see, said]) => ({ see, type: said })),
          { see: 'Then: mailboxctl dns check --wait', run: 'bash /root/publish' },
        ]
      }
      // The certificate comes within seconds; who reads slowly has it when the doctor looks.
      if (line.startsWith('mailboxctl doctor')) {
        const wait = 'until [ -s /var/lib/mailboxd/acme/certificate.pem ]; do sleep 0.2; done'
        return [
          { see: '', run: wait },
          { see: 'next> ', type },
        ]
      }
      if (line.startsWith('mailboxctl message'))
        return [
          { see: '', run: mail },
          { see: 'next> ', type },
        ]
      return [{ see: 'next> ', type }]
    })
    .concat([{ see: 'next> ', type: 'exit' }])
}

const exceptions: readonly Exception[] = [
  {
    begins: 'apt install ./mailboxd_0.1.0_amd64.deb\nmailboxctl setup',
    reason: 'it is typed on a terminal, where setup asks, and what it prints is published',
    instead: `. /given/world.sh
cp /given/mailboxd.deb mailboxd_0.1.0_${architecture}.deb
{ declare -f zone; cat <<'END'
serial=1000
grep -aE '^(; )?[a-z0-9._-]+\\. [0-9]+ IN ' | tr -d '\\r' | sed -e 's/^; //' -e 's/<the public address of this machine>/193.0.0.25/' > /root/records
zone example.com < /root/records
END
} > /root/publish
cat > /root/reactions <<'END'
${JSON.stringify(installation(server[0]!))}
END
PS1='code $? next> ' python3 /given/terminal.py "$(cat /root/reactions)" bash --norc --noprofile -i`,
  },
  {
    begins: 'npm install -g',
    reason: 'no registry; the tarball is built and its programs are run by hand before a release',
    instead: ':',
  },
  {
    begins: 'install -m 640 -o root -g mailboxd',
    reason: 'nobody is there to type the secret',
    instead: 'systemd-ask-password() { echo a secret; }\n. "$block"',
  },
  { begins: 'docker compose', reason: 'there is no Docker', instead: ':' },
  {
    begins: 'apt remove mailboxd',
    reason: 'the story goes on; package.test.ts removes and purges',
    instead: ':',
  },
  {
    begins: '[[tls.certificate]]',
    reason: 'the credential is only there for the service; package.test.ts runs with it',
    instead: ':',
  },
  {
    begins: 'blobs = "s3://',
    reason: 'the bucket is not there; bucket.test.ts runs with one of a server beside it',
    instead: ':',
  },
  { begins: 'defaults\n  mode tcp', reason: 'patroni.test.ts runs HAProxy with it', instead: ':' },
  { begins: 'create role mailboxd', reason: 'postgres.test.ts does it on a server', instead: ':' },
  {
    begins: 'database = "postgres://',
    reason: 'the server is not there; postgres.test.ts runs with one',
    instead: ':',
  },
  {
    begins: "systemctl stop 'mailboxd*.socket' mailboxd\nmailboxctl migrate --to",
    reason: 'the server is not there; moving.test.ts moves an installation to one and back',
    instead: ':',
  },
  {
    begins: "systemctl stop 'mailboxd*.socket' mailboxd\nmailboxctl migrate --blobs",
    reason: 'the bucket is not there; moving-files.test.ts moves large messages to one and back',
    instead: ':',
  },
  {
    begins: 'mkdir -p /backups',
    reason: 'the other machine is a shell on this one',
    instead: 'ssh() { sh -c "$2"; }\n. "$block"',
  },
  {
    begins: 'mailboxctl backup - | zstd -dc | restic',
    reason: 'restic and its repository are not there; both commands were run by hand',
    instead: ':',
  },
  {
    begins: 'rm -rf /backups/now',
    reason: 'rsync and the other machine are not there; the commands were run by hand',
    instead: ':',
  },
  {
    begins: 'install -d -m 700 -o mailboxd',
    reason: 'rsync and the other machine are not there; the commands were run by hand',
    instead: ':',
  },
  {
    begins: 'cat > /etc/nginx/conf.d/mailboxd.conf',
    reason: 'its certificate is made for the test; then it serves',
    instead: `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=mail.example.com -addext subjectAltName=DNS:mail.example.com -keyout /etc/nginx/api.key -out /etc/nginx/api.pem
. "$block"
systemctl stop caddy
nginx
curl -sS --retry 9 --retry-all-errors --cacert /etc/nginx/api.pem https://mail.example.com/health
key=$(mailboxctl --json key create | jq -r .token)
curl -sS --http1.1 -i --max-time 5 --cacert /etc/nginx/api.pem -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' -H "Authorization: Bearer $key" https://mail.example.com/v1/ws | head -n 1 || true
nginx -s quit
systemctl start caddy`,
  },
]

/** What goes out arrives, signed and by a reverse-path of its own. */
const sending = `echo "== sent"
key=$(mailboxctl --json key create | jq -r .token)
curl -sS http://127.0.0.1:8025/v1/inboxes/hello@example.com/send -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: first' -d '{"to":"ann@example.net","subject":"Out","body":"Good morning."}'
echo
until grep -rqs '^Subject: Out' /world/mail; do sleep 0.2; done
cat /world/mail/*
`

/** Nobody sets the clock of a machine of the tests, which the doctor warns of; its errors end the story. */
const warned = `mailboxctl() {
  command mailboxctl "$@" || { local code=$?; [ "$1 $code" = 'doctor 1' ]; }
}
`

t.test(
  'the README and the guides for operators do what they say, from the package to the restored backup',
  { skip: withoutWorld || without('dpkg', 'caddy', 'jq', 'nft') },
  async t => {
    t.same(guides.toSorted(), globSync('docs/operators/*.md', { cwd: root }).sort())
    const [first, ...rest] = [server, guides.flatMap(blocksOf)].map(some =>
      scriptOf(
        some,
        exceptions.filter(({ begins }) => some.some(({ text }) => text.startsWith(begins))),
      ),
    )
    const { deb } = await packageOfRun()
    const { code, stdout, stderr } = await runInBootedSystem(
      temporaryDir(t),
      `${first}${sending}${warned}${rest.join('')}`,
      { ...(await worldFiles(t)), 'mailboxd.deb': deb },
    )
    t.equal(code, 0, `${stdout}\n${stderr}`)
    t.same(unkept(blocks, stdout), [])
    const [, installed = '', sent = ''] = stdout.split(/^== /m)
    const codes = [...installed.matchAll(/code (\d+) next> /g)].map(([, one]) => Number(one))
    t.match(codes, [0, 0, 0, 0, Number, 0], `the five commands: ${codes}`)
    const errors = [...installed.matchAll(/^error +(\S+) +\((\w+)\)/gm)].map(
      ([, subject, code]) => `${subject} ${code}`,
    )
    t.same(errors, ['193.0.0.25:443 proxy_missing'], 'the proxy comes later')
    t.match(installed, /^\w\S+ +ann@ex\S+ +The first/m)
    t.match(sent, /^X-Mail-Args: <b-[^@]+@bounce\.example\.com>$/m)
    t.match(sent, /^\td=example\.com; s=mailboxd;/m)
    t.match(stdout, /^HTTP\/1\.1 101 /m, 'nginx passes a WebSocket on')
  },
)
