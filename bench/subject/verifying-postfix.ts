import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getPeer } from '../../test/support/peers.ts'
import { freePort } from '../../test/support/ports.ts'
import { startPostfix } from '../../test/support/postfix.ts'
import { prepareMilters } from './milters.ts'
import type { Subject } from './subject.ts'

const hostname = 'mx.postfix.test'
const recipient = 'bench@postfix.test'

/** Whom they trust and do not verify. It would be loopback, unless told. */
const trusted = '192.0.2.1'

/**
 * Postfix with OpenDKIM and OpenDMARC as milters and policyd-spf as policy service, with Debian's settings but for three: all of them
 * verify what comes from loopback, which they trust unless told; each says its result under this host's name; and sockets
 * and configuration lie in a directory of this run.
 * @param nameServer the address of whom all of them ask, on port 53
 */
export async function startVerifyingPostfix(nameServer: string): Promise<Subject> {
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
  chmodSync(dir, 0o755)
  const path = (name: string) => join(dir, name)
  writeFileSync(path('trusted'), `${trusted}\n`)
  const milters = prepareMilters(path('milters'), {
    opendkim: `Mode v\nInternalHosts ${path('trusted')}\nAuthservID ${hostname}\nNameservers ${nameServer}\n`,
    opendmarc: `IgnoreHosts ${path('trusted')}\nAuthservID ${hostname}\nTrustedAuthservIDs ${hostname}\n`,
  })
  writeFileSync(
    path('policyd-spf.conf'),
    `debugLevel = 1
TestOnly = 1
HELO_reject = Fail
Mail_From_reject = Fail
PermError_reject = False
TempError_Defer = False
skip_addresses = ${trusted}
`,
  )
  const address = '127.0.0.1'
  const postfix = await startPostfix({
    dir,
    hostname,
    address,
    port: await freePort(address),
    mailboxes: [recipient],
    settings: {
      smtpd_milters: milters.sockets,
      'policyd-spf_time_limit': '3600',
      smtpd_recipient_restrictions: 'reject_unauth_destination check_policy_service unix:private/policyd-spf',
    },
    services: `policyd-spf unix - n n - 0 spawn user=policyd-spf argv=${getPeer('policyd-spf')} ${path('policyd-spf.conf')}\n`,
    system: { binds: {}, users: [], nameServer, before: milters.start },
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
