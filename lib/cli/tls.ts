import type { Command } from 'commander'
import { systemClock } from '../base/clock.ts'
import { issuedPaths } from '../tls/acme/issued.ts'
import { readStanding } from '../tls/acme/standing.ts'
import { listCertificates } from '../tls/list.ts'
import { tellCertificates } from './certificates-text.ts'
import type { Ctl } from './ctl.ts'
import { becomeOwner, findConfig } from './installation.ts'
import { commandOf } from './words.ts'

export function addTlsCommands(program: Command, ctl: Ctl): void {
  const tls = commandOf(program, 'tls')

  tls
    .command('list')
    .description('list the certificates that the files hold, the one for peers that ask for no name first')
    .action(async () => {
      const { data_dir, tls, acme } = await findConfig(ctl.installation())
      becomeOwner(data_dir)
      const issued = acme.directory === undefined ? undefined : issuedPaths(data_dir)
      const rows = await listCertificates(
        {
          pairs: tls.certificate,
          issued,
          whyNotIssued: await tellStanding(data_dir),
          dataDir: data_dir,
        },
        systemClock.now(),
      )
      ctl.output().say({ data: rows }, () => tellCertificates(rows))
    })
}

/** Why there is no certificate of the CA, in a line. */
async function tellStanding(dataDir: string): Promise<string> {
  const standing = await readStanding(dataDir)
  if (!standing) return 'not issued yet: mailboxd orders it when it runs'
  const { error, notBefore, withoutAddress } = standing
  const sooner =
    withoutAddress.length > 0 ? `, or when DNS has an address of ${withoutAddress.join(' and ')}` : ''
  return `not issued yet: ${error}; not tried again before ${notBefore}${sooner}`
}
