import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeCertificate } from '../../test/support/certificate.ts'
import { startContained } from '../../test/support/contained.ts'
import { domainsOf, type MailServerOptions } from '../../test/support/mail-server.ts'
import { countMaildir } from '../../test/support/maildir.ts'
import { getPeer } from '../../test/support/peers.ts'
import { greeting } from '../../test/support/ports.ts'
import { runProgram } from '../../test/support/program.ts'
import type { PeerServer } from './peer.ts'

/**
 * Debian's chasquid with a queue of its own. It hands each message to a program that keeps it: here a shell, which writes a file
 * in a Maildir.
 */
export async function startChasquid(options: MailServerOptions): Promise<PeerServer> {
  const { dir, hostname, address, port, mailboxes } = options
  const config = join(dir, 'config')
  const certificate = join(config, 'certs', hostname)
  const maildir = join(dir, 'mail')
  for (const path of [
    certificate,
    join(dir, 'data'),
    ...['cur', 'new', 'tmp'].map(name => join(maildir, name)),
  ])
    mkdirSync(path, { recursive: true })
  const tls = await writeCertificate(dir, hostname)
  chmodSync(dir, 0o755)
  writeFileSync(join(certificate, 'fullchain.pem'), readFileSync(tls.cert))
  writeFileSync(join(certificate, 'privkey.pem'), readFileSync(tls.key))
  for (const domain of domainsOf(mailboxes)) mkdirSync(join(config, 'domains', domain), { recursive: true })
  writeFileSync(
    join(config, 'chasquid.conf'),
    `hostname: "${hostname}"
smtp_address: "${address}:${port}"
monitoring_address: ""
data_dir: "${join(dir, 'data')}"
mail_log_path: "<stdout>"
mail_delivery_agent_bin: "/bin/sh"
mail_delivery_agent_args: "-c"
mail_delivery_agent_args: "cat >$(mktemp ${join(maildir, 'new')}/XXXXXXXXXX)"
`,
  )
  for (const mailbox of mailboxes) {
    const made = await runProgram('/usr/bin/chasquid-util', [
      `-C=${config}`,
      'user-add',
      mailbox,
      '--password=bench',
    ])
    if (made.code !== 0) throw new Error(`chasquid-util: ${made.stdout}${made.stderr}`)
  }
  const contained = startContained(getPeer('chasquid'), ['-config_dir', config], { log: join(dir, 'log') })
  try {
    await greeting(address, port)
  } catch (error) {
    await contained.stop()
    throw new Error(`chasquid did not start:\n${readFileSync(join(dir, 'log'), 'utf8')}`, { cause: error })
  }
  return { port, pid: contained.pid, count: () => countMaildir(maildir), stop: contained.stop }
}
