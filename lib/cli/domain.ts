import type { Command } from 'commander'
import { operator } from '../core/app/caller.ts'
import {
  approveDomain,
  createDomain,
  deleteDomain,
  getDomainByName,
  holdDomain,
  listDomains,
  lookAtDomain,
  rotateDomainKeys,
  zoneFile,
} from '../core/domains/domains.ts'
import { recordsToPublish } from '../core/domains/host-records.ts'
import { hasLocalName } from '../core/domains/local-name.ts'
import { requireRegistrable } from '../core/domains/registrable.ts'
import type { Domain } from '../model/domain.ts'
import { confirm } from './confirm.ts'
import type { Ctl } from './ctl.ts'
import { diagnose, tellDiagnosis } from './dns.ts'
import { domainReport, zoneToPublish } from './domain-report.ts'
import { requireNoOtherMail } from './other-mail.ts'
import { CheckFailed, fieldsOf, Refused, tableOf } from './output.ts'
import { wholeNumber } from './whole-number.ts'
import { commandOf } from './words.ts'

export function addDomainCommands(program: Command, ctl: Ctl): void {
  const domain = commandOf(program, 'domain')

  const say = (one: Domain) => {
    const { records: _records, warnings: _warnings, ...fields } = one
    ctl.output().say(one, () => `${fieldsOf(fields)}\n\n${domainReport(one)}`)
  }
  const named = (name?: string) =>
    ctl.withRows(app => getDomainByName(app, name ?? app.config.account_domain))

  domain
    .command('add')
    .description('add a domain; then publish its records (domain records)')
    .argument('<domain>')
    .option('--pod <id>', 'let only this pod use it, by id or clientId')
    .option('--replace-mx', 'add it although another server receives its mail now')
    .action(async (name: string, { pod, replaceMx }: { pod?: string; replaceMx?: true }) => {
      const request = { domain: name, ...(pod === undefined ? {} : { podId: pod }) }
      const { made, records } = await ctl.withApp(async app => {
        const { hostname, delivery } = app.config
        const asked = requireRegistrable(name, hostname)
        if (!replaceMx && !hasLocalName(app.config))
          await requireNoOtherMail(app.dns, asked, hostname, delivery.public_addresses)
        const made = await createDomain(app, operator, request)
        return { made, records: await recordsToPublish(app, made) }
      })
      ctl
        .output()
        .say(
          { ...made, records },
          () => `added ${made.domain}; publish these records:\n\n${zoneToPublish(records, made.warnings)}`,
        )
    })

  domain
    .command('list')
    .description("list the domains, newest first, the account's own with them")
    .option('--limit <n>', 'how many', wholeNumber, 100)
    .option('--offset <n>', 'how many to skip', wholeNumber, 0)
    .action(async (page: { limit: number; offset: number }) => {
      const { rows, total } = await ctl.withRows(app => listDomains(app, operator, page))
      const columns = ['id', 'domain', 'status', 'podId']
      ctl.output().say({ data: rows, total }, () => tableOf(rows, columns))
    })

  domain
    .command('show')
    .description('show a domain, with its records as of the last check')
    .argument('[domain]')
    .action(async (name?: string) => say(await named(name)))

  domain
    .command('records')
    .description(
      "show the DNS records that a domain needs, with the addresses of the server's name, to paste into its zone",
    )
    .argument('[domain]')
    .action(async (name?: string) => {
      const { records, warnings } = await ctl.withApp(async app => {
        const seen = await lookAtDomain(app, name ?? app.config.account_domain)
        return { records: await recordsToPublish(app, seen), warnings: seen.warnings }
      })
      ctl.output().say({ data: records, warnings }, () => zoneToPublish(records, warnings))
    })

  domain
    .command('check')
    .description('the same as dns check, but that it exits with 1 when the domain is not verified')
    .argument('[domain]')
    .action(async (name?: string) => {
      const { domain: checked, findings } = await ctl.withApp(app => diagnose(app, name, undefined))
      ctl.output().say({ ...checked, findings }, () => tellDiagnosis({ domain: checked, findings }))
      if (checked.status !== 'verified') throw new CheckFailed()
    })

  domain
    .command('rotate-key')
    .description(
      'make new DKIM keys for a domain: publish their records; each signs as soon as it is found in DNS, and the one before stays published for seven days',
    )
    .argument('[domain]')
    .action(async (name?: string) => {
      const rotated = await ctl.withApp(app => rotateDomainKeys(app, name ?? app.config.account_domain))
      const records = rotated.records.filter(({ purpose }) => purpose === 'dkim-next')
      ctl.output().say({ data: records }, () => `publish these records:\n\n${zoneFile(records).trimEnd()}`)
    })

  domain
    .command('hold')
    .description(
      'hold a domain under review: it is not checked, changed or used for new inboxes until approved',
    )
    .argument('<domain>')
    .action(async (name: string) => say(await ctl.withApp(app => holdDomain(app, name))))

  domain
    .command('approve')
    .description('end the review of a domain')
    .argument('<domain>')
    .action(async (name: string) => say(await ctl.withApp(app => approveDomain(app, name))))

  domain
    .command('delete')
    .description('delete a domain that has no inboxes, and its key')
    .argument('<domain>')
    .option('--yes', 'do not ask')
    .action(async (name: string, { yes }: { yes?: boolean }) => {
      await ctl.withApp(async app => {
        const { id, domain: found } = await getDomainByName(app, name)
        if (found === app.config.account_domain) {
          throw new Refused(
            `${found} is the account's own domain, which stays: account_domain of the configuration names another one`,
          )
        }
        if (yes !== true) {
          await confirm('The domain takes no mail from then on, and its DKIM keys are gone for good.')
        }
        await deleteDomain(app, operator, id)
      })
      ctl.output().say({ deleted: name }, () => `deleted ${name}`)
    })
}
