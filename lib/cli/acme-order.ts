import { oneLine } from '../base/text.ts'
import { systemClock } from '../base/time.ts'
import type { Config } from '../config/load.ts'
import { type Finding, finding } from '../core/domains/diagnosis.ts'
import { readStanding, type Standing } from '../tls/acme/standing.ts'

/** Of a reason no more is told than leaves room in a line for what comes then. */
const reasonLength = 400

/** Why the CA gave no certificate when it was asked last, and when it is asked again; the daemon keeps that in a file. */
export async function acmeFindings({ acme, hostname, data_dir: dataDir }: Config): Promise<Finding[]> {
  const standing = acme.directory === undefined ? undefined : await readStanding(dataDir)
  if (!standing) return []
  const { failures, withoutAddress } = standing
  const subject = (acme.names.length > 0 ? acme.names : [hostname]).join(', ')
  const count = failures > 1 ? `the last ${failures} orders` : 'the last order'
  const advice =
    withoutAddress.length > 0
      ? 'Publish the addresses that are missing'
      : 'It asks port 80 of each name, from anywhere: mailboxd must be reached there'
  const message = `${count} of a certificate failed: ${reasonOf(standing)}; ${againOf(standing)}. ${advice}`
  const paste = withoutAddress.length > 0 ? 'mailboxctl dns check' : 'journalctl --unit mailboxd --grep ACME'
  return [finding('warning', 'acme_failed', subject, message, paste)]
}

/** Why nothing was issued so far and what comes next, in a line. */
export async function tellNotIssued(dataDir: string): Promise<string> {
  const standing = await readStanding(dataDir)
  return standing
    ? `not issued yet: ${reasonOf(standing)}; ${againOf(standing)}`
    : 'not issued yet: mailboxd orders it when it runs'
}

function reasonOf({ error }: Standing): string {
  const reason = oneLine(error)
  return reason.length > reasonLength ? `${reason.slice(0, reasonLength)}…` : reason
}

function againOf({ notBefore, withoutAddress }: Standing): string {
  if (Date.parse(notBefore) <= systemClock.now().getTime()) return 'mailboxd tries again within ten minutes'
  const sooner =
    withoutAddress.length > 0 ? `, or when DNS has an address of ${withoutAddress.join(' and ')}` : ''
  return `not tried again before ${notBefore}${sooner}`
}
