import type { Dns } from '../base/network.ts'
import { systemClock } from '../base/time.ts'
import { agentsOf, describeMailElsewhere, findMailElsewhere } from '../core/domains/existing-mail.ts'
import { Refused } from './output.ts'
import { writeText } from './terminal.ts'

const silent = (domain: string) =>
  `DNS gave no answer about ${domain}, so it is not known whether another server receives its mail. Run mailboxctl domain check ${domain} before you publish its MX.`

/**
 * Keeps a command from taking over a domain that another server receives the mail of. If DNS gives no answer, it says so and goes on.
 * @throws Refused with the MX, a subdomain to use instead, and the option to go on
 */
export async function requireNoOtherMail(
  dns: Dns,
  domain: string,
  hostname = `mail.${domain}`,
  publicAddresses: readonly string[] = [],
): Promise<void> {
  const hosts = await findMailElsewhere({ dns, clock: systemClock, publicAddresses }, domain, hostname)
  if (hosts === undefined) writeText('stderr', `${silent(domain)}\n`)
  else if (hosts.length > 0) {
    throw new Refused(
      `${describeMailElsewhere(domain, hosts)}. To move all mail of ${domain} to this server, add --replace-mx`,
    )
  }
}

/** Asks whether a domain is to be used, if another server receives its mail or DNS gave no answer. @returns the domain; undefined: ask for another */
export async function confirmDomain(
  ask: (text: string) => Promise<string>,
  dns: Dns,
  domain: string,
  hostname = `mail.${domain}`,
): Promise<string | undefined> {
  const hosts = await findMailElsewhere({ dns, clock: systemClock }, domain, hostname)
  if (hosts?.length === 0) return domain
  if (hosts === undefined) {
    const said = await ask(`${silent(domain)} Use it? [y/N]: `)
    return /^y(es)?$/i.test(said.trim()) ? domain : undefined
  }
  writeText('stderr', `${describeMailElsewhere(domain, hosts)}.\n`)
  const said = await ask(`Use ${agentsOf(domain)} instead? "no" moves all mail of ${domain} here [Y/no]: `)
  if (/^no$/i.test(said.trim())) return domain
  return /^(y(es)?)?$/i.test(said.trim()) ? agentsOf(domain) : undefined
}
