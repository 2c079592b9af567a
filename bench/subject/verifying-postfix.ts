import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getPeer } from '../../test/support/peers.ts'
import { freePort } from '../../test/support/ports.ts'
import { startPostfix } from '../../test/support/postfix.ts'
import type { Subject } from './subject.ts'

const hostname = 'mx.postfix.test'
const recipient = 'bench@postfix.test'

/**
 * Postfix with OpenDKIM and OpenDMARC as milters and policyd-spf as policy service, with Debian's settings but for three: all of them
 * verify what comes from loopback, which they trust unless told; each says its result under this host's name; and sockets
 * and configuration lie in a directory of this run.
 * @param nameServer the address of whom all of them ask, on port 53
 */
export async function startVerifyingPostfix(nameServer: string): Promise<Subject> {
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
  const milters = join(dir, 'milters')
  mkdirSync(milters)
  chmodSync(dir, 0o755)
  chmodSync(milters, 0o777)
  const path = (name: string) => join(milters, name)
  writeFileSync(path('ignored'), '192.0.2.1\n')
  writeFileSync(
    path('opendkim.conf'),
    `Syslog yes
SyslogSuccess yes
Canonicalization relaxed/simple
OversignHeaders From
UserID opendkim
UMask 000
Mode v
InternalHosts ${path('ignored')}
AuthservID ${hostname}
Nameservers ${nameServer}
Socket local:${path('opendkim.sock')}
`,
  )
  writeFileSync(
    path('opendmarc.conf'),
    `PublicSuffixList /usr/share/publicsuffix/public_suffix_list.dat
Syslog true
UMask 0000
UserID opendmarc
IgnoreHosts ${path('ignored')}
AuthservID ${hostname}
TrustedAuthservIDs ${hostname}
Socket local:${path('opendmarc.sock')}
`,
  )
  writeFileSync(
    path('policyd-spf.conf'),
    `debugLevel = 1
TestOnly = 1
HELO_reject = Fail
Mail_From_reject = Fail
PermError_reject = False
TempError_Defer = False
skip_addresses = 192.0.2.1
`,
  )
  const address = '127.0.0.1'
  const sockets = ['opendkim', 'opendmarc'].map(name => path(`${name}.sock`))
  const postfix = await startPostfix({
    dir,
    hostname,
    address,
    port: await freePort(address),
    mailboxes: [recipient],
    settings: {
      smtpd_milters: sockets.map(socket => `unix:${socket}`).join(' '),
      'policyd-spf_time_limit': '3600',
      smtpd_recipient_restrictions: 'reject_unauth_destination check_policy_service unix:private/policyd-spf',
    },
    services: `policyd-spf unix - n n - 0 spawn user=policyd-spf argv=${getPeer('policyd-spf')} ${path('policyd-spf.conf')}\n`,
    system: {
      binds: {},
      users: [],
      nameServer,
      before: `(${getPeer('opendkim')} -f -x ${path('opendkim.conf')}; echo opendkim $?) &
(${getPeer('opendmarc')} -f -c ${path('opendmarc.conf')}) &
until [ -S ${sockets[0]} ] && [ -S ${sockets[1]} ]; do sleep 0.05; done`,
    },
  })
  return {
    address,
    port: postfix.port,
    recipient,
    pid: postfix.pid,
    delivered: () => postfix.count(recipient),
    first: async () => (await postfix.messages(recipient))[0]!.toString('latin1'),
    async stop() {
      await postfix.stop()
      rmSync(dir, { recursive: true })
    },
  }
}
