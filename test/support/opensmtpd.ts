import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeCertificate } from './certificate.ts'
import { domainsOf, type Mail, type MailServer, type MailServerOptions } from './mail-server.ts'
import { countMaildir, readMaildir } from './maildir.ts'
import { getPeer } from './peers.ts'
import { greeting } from './ports.ts'
import { startInPrivateSystem, userId } from './private-system.ts'
import { submit } from './smtp-client.ts'

export interface OpenSmtpd extends MailServer {
  /** Hands it a message by SMTP. */
  send(mail: Mail): Promise<void>
}

export interface OpenSmtpdOptions extends MailServerOptions {
  /**
   * Offers STARTTLS. Debian 12's OpenSMTPD 6.8 cannot do the handshake with OpenSSL 3 (its issue 1239): every one fails, as
   * with a host whose TLS is broken, so a sender has to come again without.
   */
  readonly brokenStartTls?: boolean
  /** 60M unless told. */
  readonly maxSize?: string
  /** 100 unless told, as it comes. */
  readonly messagesPerSession?: number
  /** What its filter answers to every RCPT. */
  readonly refusedRcpt?: string
}

/** Starts an OpenSMTPD of its own. Waits until it greets. Needs root. */
export async function startOpenSmtpd(options: OpenSmtpdOptions): Promise<OpenSmtpd> {
  const { dir, address, port } = options
  const program = getPeer('opensmtpd')
  chmodSync(dir, 0o755)
  for (const name of ['mail', 'spool', 'run', 'lib', 'lib/opensmtpd', 'lib/opensmtpd/empty'])
    mkdirSync(join(dir, name))
  chmodSync(join(dir, 'lib/opensmtpd/empty'), 0o711)
  const mail = join(dir, 'mail')
  chownSync(mail, userId(2), userId(2))
  const tls = await writeCertificate(dir, options.hostname)
  writeFileSync(join(dir, 'smtpd.conf'), smtpdConf(options, tls), { mode: 0o600 })

  const libexec = join(program, '../../libexec')
  const contained = startInPrivateSystem(
    dir,
    {
      binds: {
        '/var/spool': join(dir, 'spool'),
        '/var/lib': join(dir, 'lib'),
        '/run': join(dir, 'run'),
        '/usr/libexec': libexec,
      },
      users: ['opensmtpd', 'opensmtpq', 'mailbox'],
    },
    program,
    ['-d', '-f', join(dir, 'smtpd.conf')],
  )
  const log = () => readFileSync(join(dir, 'log'), 'utf8')
  try {
    await greeting(address, port)
  } catch (error) {
    await contained.stop()
    throw new Error(`OpenSMTPD did not start:\n${log()}`, { cause: error })
  }
  return {
    address,
    port,
    pid: contained.pid,
    messages: (mailbox, count) => readMaildir(join(mail, mailbox), count),
    count: mailbox => countMaildir(join(mail, mailbox)),
    log,
    stop: contained.stop,
    async send(mail) {
      await submit(address, port, mail)
    },
  }
}

/** Mail for a mailbox is kept; for another address of its domains refused (550); for a routed domain relayed. */
function smtpdConf(options: OpenSmtpdOptions, tls: { cert: string; key: string }): string {
  const { dir, hostname, address, port, mailboxes, routes = {} } = options
  const { refusedRcpt, maxSize = '60M', messagesPerSession = 100 } = options
  const starttls = options.brokenStartTls ? ` tls pki "${hostname}"` : ''
  const filter =
    refusedRcpt === undefined
      ? ''
      : `table nobody { "192.0.2.1" }
filter refuses phase rcpt-to match !src <nobody> reject "${refusedRcpt}"
`
  const quoted = (values: readonly string[]) => values.map(value => `"${value}"`).join(', ')
  const relays = Object.entries(routes).map(
    ([domain, to]) => `action "to-${domain}" relay host "smtp://${to}" helo "${hostname}" src "${address}"
match from any for domain "${domain}" action "to-${domain}"
`,
  )
  return `pki "${hostname}" cert "${tls.cert}"
pki "${hostname}" key "${tls.key}"
table mailboxes { ${quoted(mailboxes)} }
table domains { ${quoted(domainsOf(mailboxes))} }
table users { ${mailboxes.map(mailbox => `"${mailbox}" = "mailbox"`).join(', ')} }
${filter}listen on ${address} port ${port} hostname "${hostname}"${starttls}${filter === '' ? '' : ' filter refuses'}
queue ttl 4h
smtp max-message-size "${maxSize}"
smtp limit max-mails ${messagesPerSession}
action "keep" maildir "${join(dir, 'mail')}/%{dest}" virtual <users>
match from any for domain <domains> rcpt-to <mailboxes> action "keep"
${relays.join('')}`
}
