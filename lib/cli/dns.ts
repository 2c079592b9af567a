import { setTimeout } from 'node:timers/promises'
import type { Command } from 'commander'
import { limits } from '../base/limits.ts'
import type { App } from '../core/app/app.ts'
import { type Diagnosis, diagnoseDomain } from '../core/domains/diagnosis.ts'
import type { Ctl } from './ctl.ts'
import { failFor, tellFindings } from './findings.ts'
import { writeText } from './terminal.ts'
import { commandOf } from './words.ts'

export function addDnsCommands(program: Command, ctl: Ctl): void {
  commandOf(program, 'dns')
    .command('check')
    .description(
      "ask the domain's own name servers for all that mail needs and tell what to publish; exit 0 when it is well, 1 with a warning, 2 with an error",
    )
    .argument('[domain]', "by its name or id; the account's own without one")
    .option('--wait', 'ask again until the domain is verified')
    .action(async (name: string | undefined, { wait }: { wait?: boolean }) => {
      const found = await ctl.withApp(app => diagnose(app, name, wait === true))
      ctl.output().say(found, () => tellDiagnosis(found))
      failFor(found.findings)
    })
}

/** Asks the name servers of the zones, once or until the domain is verified. */
export async function diagnose(app: App, name: string | undefined, isPatient: boolean): Promise<Diagnosis> {
  for (;;) {
    const found = await diagnoseDomain(app, name ?? app.config.account_domain)
    if (!isPatient || ['verified', 'not_well'].includes(found.domain.status)) return found
    const missing = found.domain.records.filter(one => one.status !== 'valid' && one.purpose !== 'dmarc')
    writeText('stderr', `waiting for ${missing.map(one => `${one.type} ${one.name}`).join(', ')} …\n`)
    await setTimeout(limits.dnsWaitMs)
  }
}

/** What was found of a domain, for people. */
export function tellDiagnosis({ domain, findings }: Diagnosis): string {
  const count = (level: string) => findings.filter(one => one.level === level).length
  const counts = `${count('error')} errors, ${count('warning')} warnings, ${count('hint')} hints`
  return [`${domain.domain} is ${domain.status.replace('_', ' ')}: ${counts}`, tellFindings(findings)]
    .join('\n\n')
    .trimEnd()
}
