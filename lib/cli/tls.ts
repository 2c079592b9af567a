import type { Command } from 'commander'
import { systemClock } from '../base/time.ts'
import { issuedPaths } from '../tls/acme/issued.ts'
import { listCertificates } from '../tls/list.ts'
import { tellNotIssued } from './acme-order.ts'
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
          whyNotIssued: await tellNotIssued(data_dir),
          dataDir: data_dir,
        },
        systemClock.now(),
      )
      ctl.output().say({ data: rows }, () => tellCertificates(rows))
    })
}
