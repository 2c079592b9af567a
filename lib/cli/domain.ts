import type { Command } from 'commander'
import { getDomainRecords, zoneFile } from '../core/domains.ts'
import type { Ctl } from './ctl.ts'

export function addDomainCommands(program: Command, ctl: Ctl): void {
  const domain = program.command('domain').description('mail domains')

  domain
    .command('records')
    .description('show the DNS records that a domain needs, to paste into its zone')
    .argument('[domain]', "the domain (default: the account's)")
    .action(async (name?: string) => {
      const records = await ctl.withApp(app => getDomainRecords(app, name ?? app.config.account_domain))
      ctl.output().say({ data: records }, () => zoneFile(records).trimEnd())
    })
}
