import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { declareMailboxd } from '../lib/cli/arguments.ts'
import { completions } from '../lib/cli/completions.ts'
import { exitCodes } from '../lib/cli/exit-codes.ts'
import { manualPage } from '../lib/cli/manual.ts'
import { declareMailboxctl } from '../lib/cli/program.ts'
import { type Architecture, carriedNode, installProgram, manifest, run } from './program.ts'

const root = join(import.meta.dirname, '..')
const { version } = manifest

/** Where the program stands on a machine that has the package. */
const home = 'usr/lib/mailboxd'
/** Removed by dpkg only when the package is purged, and not replaced on an upgrade when they were changed. */
const conffiles = ['/etc/default/mailboxd']

/**
 * Node's and better-sqlite3's libraries, by the newest version of each symbol that they ask for. systemd-sysusers makes the
 * user, systemd-tmpfiles the directory of the configuration; both can be had without systemd.
 */
const depends = [
  'libc6 (>= 2.34)',
  'libstdc++6 (>= 11)',
  'libgcc-s1',
  'libatomic1',
  'libsystemd0',
  'init-system-helpers (>= 1.54)',
  'systemd | systemd-standalone-sysusers',
  'systemd | systemd-standalone-tmpfiles',
]

/** Makes mailboxd_<version>_<architecture>.deb in `to`; gives its path. */
export async function makeDebianPackage(
  program: string,
  architecture: Architecture,
  { work, to }: { work: string; to: string },
): Promise<string> {
  const tree = join(work, `debian-${architecture}`)
  const put = (path: string, content: string | Buffer) => {
    mkdirSync(dirname(join(tree, path)), { recursive: true })
    writeFileSync(join(tree, path), content)
  }
  const copy = (from: string, path: string) => put(path, readFileSync(join(root, from)))

  installProgram(program, join(tree, home), architecture, work)
  for (const name of ['mailboxd', 'mailboxctl']) {
    put(`usr/bin/${name}`, launcher(name))
  }
  for (const file of globSync('*.{service,socket}', { cwd: join(root, 'systemd') })) {
    copy(`systemd/${file}`, `usr/lib/systemd/system/${file}`)
  }
  copy('systemd/mailboxd.sysusers', 'usr/lib/sysusers.d/mailboxd.conf')
  copy('systemd/mailboxd.tmpfiles', 'usr/lib/tmpfiles.d/mailboxd.conf')
  copy('systemd/mailboxd.default', 'etc/default/mailboxd')
  await putDocuments(put, carriedNode(architecture, work))

  // Modes come from nowhere else: git and the umask of who builds are not asked.
  for (const file of globSync('**/*', { cwd: tree, withFileTypes: true })) {
    const path = join(file.parentPath, file.name)
    const isProgram = file.isDirectory() || /\/bin\/[a-z]+$/.test(path)
    chmodSync(path, isProgram ? 0o755 : 0o644)
  }
  for (const script of ['postinst', 'prerm', 'postrm']) {
    cpSync(join(root, 'packaging/debian', script), join(tree, 'DEBIAN', script))
    chmodSync(join(tree, 'DEBIAN', script), 0o755)
  }
  put('DEBIAN/conffiles', conffiles.map(path => `${path}\n`).join(''))
  put(
    'DEBIAN/control',
    control(architecture, Number(run('du', ['-k', '-s', '--apparent-size', tree]).split('\t')[0])),
  )
  const sums = run('sh', ['-c', 'find usr -type f -print0 | sort -z | xargs -0 md5sum'], tree)
  put('DEBIAN/md5sums', sums)
  const file = join(to, `mailboxd_${version}_${architecture}.deb`)
  run('dpkg-deb', ['--root-owner-group', '--build', tree, file])
  return file
}

function launcher(name: string): string {
  // As bin/mailboxd has it.
  const young =
    name === 'mailboxctl' ? '--min-semi-space-size=16 --max-semi-space-size=16' : '--max-semi-space-size=8'
  return `#!/bin/sh
exec /${home}/bin/node ${young} --disable-warning=ExperimentalWarning /${home}/dist/bin/${name}.js "$@"
`
}

function control(architecture: Architecture, installedKib: number): string {
  return `Package: mailboxd
Version: ${version}
Architecture: ${architecture}
Maintainer: the mailboxd authors <mailboxd@mailboxd.invalid>
Installed-Size: ${installedKib}
Depends: ${depends.join(', ')}
Recommends: ca-certificates
Suggests: clamav-daemon, rspamd
Section: mail
Priority: optional
Description: mail server that gives software agents real email inboxes
 One daemon that takes mail for your domains, delivers what your agents send
 straight to the servers of its recipients, and is asked over an HTTP API; and
 mailboxctl, which administers it. It carries its own Node.
`
}

async function putDocuments(
  put: (path: string, content: string | Buffer) => void,
  node: string,
): Promise<void> {
  const doc = 'usr/share/doc/mailboxd'
  const zipped = (path: string, content: string | Buffer) =>
    put(`${path}.gz`, gzipSync(content, { level: 9 }))
  const date = new Date(Number(process.env.SOURCE_DATE_EPOCH) * 1000)
  const page = { version, date: date.toISOString().slice(0, 10) }
  const more = {
    'Exit status of mailboxctl': exitCodes.map(([code, meaning]) => `${code}: ${meaning}`),
    Files: [
      '/etc/mailboxd/mailboxd.toml: the configuration, which mailboxctl setup writes and mailboxctl config describe tells of.',
      '/var/lib/mailboxd: mail, keys and certificates; backed up as a whole.',
      '/usr/share/doc/mailboxd/examples/mailboxd.toml: every setting with its meaning.',
    ],
  }
  const manuals = [declareMailboxd(version), await declareMailboxctl(version)]
  for (const program of manuals) {
    zipped(`usr/share/man/man8/${program.name()}.8`, manualPage(program, { ...page, section: 8, more }))
  }
  put('usr/share/bash-completion/completions/mailboxctl', completions.bash)
  put('usr/share/zsh/vendor-completions/_mailboxctl', completions.zsh)
  put('usr/share/fish/vendor_completions.d/mailboxctl.fish', completions.fish)
  put(`${doc}/examples/mailboxd.toml`, readFileSync(join(root, 'config/mailboxd.example.toml')))
  for (const name of ['prometheus.yaml', 'prometheus-alerts.yaml', 'grafana-dashboard.json']) {
    put(`${doc}/examples/${name}`, readFileSync(join(root, 'config', name)))
  }
  // The README and what the program says lead to the guides.
  for (const path of ['README.md', ...globSync('docs/**/*.md', { cwd: root })])
    put(`${doc}/${path}`, readFileSync(join(root, path)))
  put(`${doc}/copyright`, copyright())
  zipped(`${doc}/LICENSE.node`, readFileSync(join(node, 'LICENSE')))
  zipped(`${doc}/NEWS`, readFileSync(join(root, 'CHANGELOG.md')))
  const entry = [
    `mailboxd (${version}) unstable; urgency=medium`,
    '  * What changed stands in NEWS.gz.',
    ` -- the mailboxd authors <mailboxd@mailboxd.invalid>  ${date.toUTCString().replace('GMT', '+0000')}`,
  ]
  zipped(`${doc}/changelog`, `${entry.join('\n\n')}\n`)
}

/** The licence in the form of Debian; those of the libraries stand beside the files that they are in. */
function copyright(): string {
  const licence = readFileSync(join(root, 'LICENSE'), 'utf8')
    .split('\n')
    .map(line => ` ${line.trim() === '' ? '.' : line}`)
    .join('\n')
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: mailboxd

Files: *
Copyright: 2026 the mailboxd authors
License: Expat

Files: ${home}/bin/node
Copyright: the Node.js contributors
License: Node
 See LICENSE.node.gz here.

Files: ${home}/dist/* ${home}/node_modules/*
Copyright: the authors of each library
License: various
 See the files *.LEGAL.txt and LICENSE beside them.

License: Expat
${licence.trimEnd()}
`
}
