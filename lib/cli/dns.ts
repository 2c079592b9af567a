import { setTimeout } from 'node:timers/promises'
import type { Command } from 'commander'
import type { App } from '../core/app/app.ts'
import { type Diagnosis, diagnoseDomain, type Finding } from '../core/domains/diagnosis.ts'
import { hasLocalName } from '../core/domains/local-name.ts'
import type { Ctl } from './ctl.ts'
import { failFor, tellFindings } from './findings.ts'
import { writeText } from './terminal.ts'
import { commandOf } from './words.ts'

/** How long `mailboxctl dns check --wait` rests before it asks again. */
const dnsWaitMs = 15_000

export function addDnsCommands(program: Command, ctl: Ctl): void {
  commandOf(program, 'dns')
    .command('check')
    .description(
      "ask the domain's own name servers for all that mail needs and tell what to publish; exit 0 when it is well, 1 with a warning, 2 with an error",
    )
    .argument('[domain]', "by its name or id; the account's own without one")
    .option('--wait', 'ask again until the domain is verified and there is no error')
    .action(async (name: string | undefined, { wait }: { wait?: boolean }) => {
      const found = await ctl.withApp(app => diagnose(app, name, wait ? untilNextAsk : undefined))
      ctl.output().say(found, () => tellDiagnosis(found))
      failFor(found.findings)
    })
}

/** The time between two checks of who waits. */
export function untilNextAsk(): Promise<void> {
  return setTimeout(dnsWaitMs)
}

/**
 * Asks the name servers of the zones, once or until the domain is verified without an error.
 * @param pause between two checks; undefined: once
 */
export async function diagnose(
  app: App,
  name: string | undefined,
  pause: (() => Promise<void>) | undefined,
): Promise<Diagnosis> {
  for (;;) {
    const found = await diagnoseDomain(app, name ?? app.config.account_domain)
    // In local mode it is never verified.
    if (!pause || found.domain.status === 'verified' || hasLocalName(app.config)) return found
    writeText('stderr', `waiting for ${awaited(found).join(', ')} …\n`)
    await pause()
  }
}

/** What keeps a domain from being verified and well. */
function awaited({ domain, findings }: Diagnosis): string[] {
  const kept = findings.filter(({ level, code }) => level === 'error' || code === 'dns_unanswered')
  const told = kept.map(({ subject, code }) => `${subject} (${code})`)
  return told.length > 0 ? [...new Set(told)] : [domain.domain]
}

/** What was found of a domain, for people. */
export function tellDiagnosis({ domain, findings }: Diagnosis): string {
  const count = (level: Finding['level']) => {
    const { length } = findings.filter(one => one.level === level)
    return `${length} ${level}${length === 1 ? '' : 's'}`
  }
  const counts = `${count('error')}, ${count('warning')}, ${count('hint')}`
  const is =
    domain.status === 'unknown'
      ? `was verified on ${domain.verifiedAt?.slice(0, 10)}, and DNS gives no answer now for what it needs`
      : `is ${domain.status.replace('_', ' ')}`
  return [`${domain.domain} ${is}: ${counts}`, tellFindings(findings)].join('\n\n').trimEnd()
}
