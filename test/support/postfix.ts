import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeCertificate } from './certificate.ts'
import { startContained } from './contained.ts'
import { domainsOf, type Mail, type MailServer, type MailServerOptions } from './mail-server.ts'
import { countMaildir, readMaildir } from './maildir.ts'
import { greeting } from './ports.ts'
import { type PrivateSystem, startInPrivateSystem } from './private-system.ts'
import { runProgram } from './program.ts'

export interface Postfix extends MailServer {
  /** Puts a message into its queue, as a local program would by sendmail(1). */
  send(mail: Mail): Promise<void>
  /** What waits in its queue: id, queue name, recipients with the reason of their delay. */
  queue(): Promise<QueuedMail[]>
  /** Tries everything that waits now, instead of at its time. */
  flush(): Promise<void>
}

export interface QueuedMail {
  readonly queue_id: string
  readonly queue_name: string
  readonly recipients: readonly { address: string; delay_reason?: string }[]
}

export interface PostfixOptions extends MailServerOptions {
  /** Lines of main.cf that differ: name → value. */
  readonly settings?: Readonly<Record<string, string>>
  /** Further lines of master.cf. */
  readonly services?: string
  /** Runs it with files of the system of its own. */
  readonly system?: PrivateSystem
}

/** Who delivers to the Maildirs. Postfix never delivers as root. */
const nobody = 65534

/** Postfix's own supervisor. `postfix start-fg` runs it too, after checking a whole installation. */
const master = '/usr/lib/postfix/sbin/master'

/**
 * Starts a Postfix of its own: own configuration, queue and data directory, STARTTLS with a self-signed certificate,
 * fsync and everything else as it comes. Waits until it greets. Needs root.
 */
export async function startPostfix(options: PostfixOptions): Promise<Postfix> {
  const { dir, address, port } = options
  const config = join(dir, 'config')
  const mail = join(dir, 'mail')
  const logFile = join(dir, 'log')
  chmodSync(dir, 0o755) // its processes run as user postfix
  for (const path of [config, mail]) mkdirSync(path)
  chownSync(mail, nobody, nobody)
  makeSpool(join(dir, 'queue'), join(dir, 'data'))
  const tls = await writeCertificate(config, options.hostname)
  writeFileSync(join(config, 'main.cf'), mainCf(options, tls))
  writeFileSync(join(config, 'master.cf'), `${masterCf(address, port)}${options.services ?? ''}`)
  utimesSync(join(config, 'main.cf'), 0, 0) // Postfix waits two seconds for a main.cf that is still being written

  const output = join(dir, 'output')
  const contained = options.system
    ? startInPrivateSystem(dir, options.system, master, ['-s', '-c', config], output)
    : startContained(master, ['-s', '-c', config], { log: output, env: { MAIL_CONFIG: config } })
  const log = () => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '')
  try {
    await greeting(address, port)
  } catch (error) {
    await contained.stop()
    throw new Error(`Postfix did not start:\n${readFileSync(output, 'utf8')}${log()}`, {
      cause: error,
    })
  }
  const maildir = (mailbox: string) => join(mail, mailbox)
  const run = async (program: string, args: string[], input?: Buffer | string) => {
    const { code, stdout, stderr } = await runProgram(program, args, input)
    if (code !== 0) throw new Error(`${program} ended with ${code}: ${stderr}`)
    return stdout
  }
  return {
    address,
    port,
    pid: contained.pid,
    messages: (mailbox, count) => readMaildir(maildir(mailbox), count),
    count: mailbox => countMaildir(maildir(mailbox)),
    log,
    stop: contained.stop,
    async send({ from, to, raw }) {
      await run('/usr/sbin/sendmail', ['-C', config, '-i', '-f', from, '--', ...to], raw)
    },
    async queue() {
      const lines = await run('/usr/sbin/postqueue', ['-c', config, '-j'])
      return lines
        .split('\n')
        .filter(Boolean)
        .map(line => JSON.parse(line))
    },
    async flush() {
      await run('/usr/sbin/postqueue', ['-c', config, '-f'])
    },
  }
}

/** The directories that `postfix check` would make, with its owners and modes. */
function makeSpool(queue: string, data: string): void {
  const postfix = idOf('/etc/passwd', 'postfix')
  const postdrop = idOf('/etc/group', 'postdrop')
  const make = (path: string, mode: number, gid = 0) => {
    mkdirSync(path)
    chownSync(path, postfix, gid)
    chmodSync(path, mode)
  }
  mkdirSync(queue)
  mkdirSync(join(queue, 'pid'))
  const own = [
    'active',
    'bounce',
    'corrupt',
    'defer',
    'deferred',
    'flush',
    'hold',
    'incoming',
    'private',
    'saved',
    'trace',
  ]
  for (const name of own) make(join(queue, name), 0o700)
  make(join(queue, 'public'), 0o710, postdrop)
  make(join(queue, 'maildrop'), 0o730, postdrop)
  make(data, 0o700)
}

function idOf(file: string, name: string): number {
  const line = readFileSync(file, 'utf8')
    .split('\n')
    .find(line => line.startsWith(`${name}:`))
  return Number(line?.split(':')[2])
}

function mainCf(options: PostfixOptions, tls: { cert: string; key: string }): string {
  const { dir, address, hostname, mailboxes, routes = {}, settings = {} } = options
  const inline = (entries: readonly string[]) => (entries.length > 0 ? `inline:{ ${entries.join(' ')} }` : '')
  const lines: Record<string, string> = {
    compatibility_level: '3.6',
    myhostname: hostname,
    mydestination: '',
    mynetworks: '127.0.0.0/8',
    inet_interfaces: 'loopback-only', // the address itself stands in master.cf
    inet_protocols: 'ipv4',
    queue_directory: join(dir, 'queue'),
    data_directory: join(dir, 'data'),
    maillog_file: join(dir, 'log'),
    maillog_file_prefixes: dir,
    alias_maps: '',
    local_recipient_maps: '',
    virtual_mailbox_domains: domainsOf(mailboxes).join(' '),
    virtual_mailbox_maps: inline(mailboxes.map(mailbox => `{ ${mailbox} = ${mailbox}/ }`)),
    virtual_mailbox_base: join(dir, 'mail'),
    virtual_uid_maps: `static:${nobody}`,
    virtual_gid_maps: `static:${nobody}`,
    smtpd_peername_lookup: 'no', // it would ask the machine's own DNS for every 127.0.0.x
    virtual_mailbox_limit: '0',
    message_size_limit: '60000000',
    transport_maps: inline(
      Object.entries(routes).map(([domain, to]) => `{ ${domain} = smtp:${bracketed(to)} }`),
    ),
    default_transport: 'error:5.1.2 no route to this domain in the test',
    smtp_bind_address: address,
    smtp_tls_security_level: 'may',
    smtpd_tls_security_level: 'may',
    smtpd_tls_cert_file: tls.cert,
    smtpd_tls_key_file: tls.key,
    // What was deferred is tried again within a test's time.
    queue_run_delay: '2s',
    minimal_backoff_time: '2s',
    ...settings,
  }
  return Object.entries(lines)
    .map(([name, value]) => `${name} = ${value}\n`)
    .join('')
}

/** `127.0.0.1:25` → `[127.0.0.1]:25`, which Postfix does not look up. */
function bracketed(to: string): string {
  return to.replace(/^(.*):(\d+)$/, '[$1]:$2')
}

/** Debian's services without chroot, and the SMTP server on our port. */
function masterCf(address: string, port: number): string {
  return `${address}:${port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
proxywrite unix - - n - 1 proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
local unix - n n - - local
virtual unix - n n - - virtual
lmtp unix - - n - - lmtp
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`
}
