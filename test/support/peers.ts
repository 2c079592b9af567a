import { existsSync, globSync } from 'node:fs'

/** Where .ci/install-peers unpacks the servers whose packages exclude Postfix. */
const unpacked = process.env.MAILBOXD_PEERS_DIR ?? '/var/cache/mailboxd-peers'

/** The real counterparts of the tests: the Debian package of each, where its program stands, and whether it needs root. Some only the benchmark has. */
const peers = {
  postfix: { package: 'postfix', paths: ['/usr/sbin/postfix'], root: true },
  opensmtpd: { package: 'opensmtpd', paths: [`${unpacked}/opensmtpd/usr/sbin/smtpd`], root: true },
  exim: {
    package: 'exim4-daemon-light',
    paths: [`${unpacked}/exim4-daemon-light/usr/sbin/exim4`],
    root: true,
  },
  'smtp-source': { package: 'postfix', paths: ['/usr/sbin/smtp-source'], root: false },
  'smtp-sink': { package: 'postfix', paths: ['/usr/sbin/smtp-sink'], root: false },
  msmtp: { package: 'msmtp', paths: ['/usr/bin/msmtp'], root: false },
  swaks: { package: 'swaks', paths: ['/usr/bin/swaks'], root: false },
  opendkim: { package: 'opendkim', paths: ['/usr/sbin/opendkim'], root: false },
  dkimpy: {
    package: 'python3-dkim',
    paths: ['/usr/lib/python3/dist-packages/dkim/__init__.py'],
    root: false,
  },
  postgres: { package: 'postgresql', paths: ['/usr/lib/postgresql/*/bin/postgres'], root: false },
  haproxy: { package: 'haproxy', paths: ['/usr/sbin/haproxy'], root: false },
  patroni: { package: 'patroni', paths: ['/usr/bin/patroni'], root: true },
  etcd: { package: 'etcd-server', paths: ['/usr/bin/etcd'], root: false },
  pgbouncer: { package: 'pgbouncer', paths: ['/usr/sbin/pgbouncer'], root: false },
  clamd: { package: 'clamav-daemon', paths: ['/usr/sbin/clamd'], root: true },
  rspamd: { package: 'rspamd', paths: ['/usr/bin/rspamd'], root: true },
  unbound: { package: 'unbound', paths: ['/usr/sbin/unbound'], root: false },
  'ldns-signzone': { package: 'ldnsutils', paths: ['/usr/bin/ldns-signzone'], root: false },
  chromium: { package: 'chromium', paths: ['/usr/bin/chromium'], root: false },
  pebble: { package: 'pebble', paths: ['/usr/bin/pebble'], root: false },
  python3: { package: 'python3', paths: ['/usr/bin/python3'], root: false },
  libsystemd: {
    package: 'libsystemd0',
    paths: ['/usr/lib/*/libsystemd.so.0', '/lib/*/libsystemd.so.0'],
    root: false,
  },
  prometheus: { package: 'prometheus', paths: ['/usr/bin/prometheus'], root: false },
  knot: { package: 'knot', paths: ['/usr/sbin/knotd'], root: true },
  keymgr: { package: 'knot', paths: ['/usr/sbin/keymgr', '/usr/bin/keymgr'], root: true },
  dpkg: { package: 'dpkg', paths: ['/usr/bin/dpkg'], root: true },
  sysusers: { package: 'systemd', paths: ['/usr/bin/systemd-sysusers', '/bin/systemd-sysusers'], root: true },
  systemd: { package: 'systemd', paths: ['/usr/lib/systemd/systemd'], root: true },
  ip: { package: 'iproute2', paths: ['/usr/sbin/ip', '/sbin/ip', '/usr/bin/ip'], root: true },
  nginx: { package: 'nginx-light', paths: ['/usr/sbin/nginx'], root: true },
  caddy: { package: 'caddy', paths: ['/usr/bin/caddy'], root: true },
  'qemu-aarch64': { package: 'qemu-user-static', paths: ['/usr/bin/qemu-aarch64-static'], root: false },
  'libatomic-arm64': {
    package: 'libatomic1-arm64-cross',
    paths: ['/usr/aarch64-linux-gnu/lib/libatomic.so.1'],
    root: false,
  },
  zsh: { package: 'zsh', paths: ['/usr/bin/zsh'], root: false },
  fish: { package: 'fish', paths: ['/usr/bin/fish'], root: false },
  'bash-completion': {
    package: 'bash-completion',
    paths: ['/usr/share/bash-completion/bash_completion'],
    root: false,
  },
  mandoc: { package: 'mandoc', paths: ['/usr/bin/mandoc'], root: false },
  man: { package: 'man-db', paths: ['/usr/bin/man'], root: false },
  nft: { package: 'nftables', paths: ['/usr/sbin/nft'], root: true },
  jq: { package: 'jq', paths: ['/usr/bin/jq'], root: false },
  gcc: { package: 'gcc', paths: ['/usr/bin/gcc'], root: false },
  opendmarc: { package: 'opendmarc', paths: ['/usr/sbin/opendmarc'], root: true, isForBench: true },
  'policyd-spf': {
    package: 'postfix-policyd-spf-python',
    paths: ['/usr/bin/policyd-spf'],
    root: true,
    isForBench: true,
  },
  chasquid: { package: 'chasquid', paths: ['/usr/bin/chasquid'], root: true, isForBench: true },
  unshare: { package: 'util-linux', paths: ['/usr/bin/unshare'], root: false },
} as const

export type Peer = keyof typeof peers

/** The path of a peer's program, or undefined where it is not installed. */
export function findPeer(peer: Peer): string | undefined {
  return peers[peer].paths
    .flatMap(path => (path.includes('*') ? globSync(path).sort() : path))
    .findLast(path => existsSync(path))
}

/** The path of a peer's program; throws where it is not installed. Tests ask `without` first. */
export function getPeer(peer: Peer): string {
  const path = findPeer(peer)
  if (!path) throw new Error(missing(peer))
  return path
}

/**
 * Why a test that needs these peers cannot run here, or false when it can: tap's `skip`.
 * `t.test('delivers to Postfix', { skip: without('postfix', 'swaks') }, async t => …)`
 */
export function without(...needed: Peer[]): string | false {
  for (const peer of needed) {
    if (!findPeer(peer)) return missing(peer)
    if (peers[peer].root && process.getuid?.() !== 0) return `${peer} needs root`
  }
  return false
}

function missing(peer: Peer): string {
  const option = 'isForBench' in peers[peer] ? ' --bench' : ''
  return `needs the Debian package ${peers[peer].package} (.ci/install-peers${option} installs it)`
}
