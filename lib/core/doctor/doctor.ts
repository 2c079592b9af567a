import { dnsTimeoutMs } from '../../base/network.ts'
import { type Clock, inTime } from '../../base/time.ts'

import type { Config } from '../../config/load.ts'
import { createDns } from '../../courier/dns.ts'
import { type Finding, finding, notChecked } from '../../mail/domain/finding.ts'
import type { App } from '../app/app.ts'
import { checkMs, type Diagnosis, diagnoseDomain, diagnosisOf } from '../domains/diagnosis.ts'
import { getDomainByName } from '../domains/domains.ts'
import { readLoad } from '../load.ts'
import { readRunning } from '../running.ts'
import { checkBlockLists } from './block-lists.ts'
import { checkBucket } from './bucket.ts'
import { checkClock } from './clock.ts'
import { checkDoors, checkWayOut } from './doors.ts'
import { loadFindings } from './load.ts'
import { checkMachine } from './machine.ts'
import { checkNodes } from './nodes.ts'
import { checkStrays } from './raws.ts'

/**
 * Looks at all that may lose mail: the machine, the clock, what waits, the doors, the way out, lists of spammers, and the DNS of the
 * account's domain. It ends in bounded time, and says of each part that took too long or failed that it was not checked.
 * @param reached the mail server whose port 25 is tried
 */
export async function examine(app: App, reached: string): Promise<Diagnosis> {
  const { data_dir: dataDir, account_domain: account, delivery } = app.config
  const { isUp, last } = await readRunning(dataDir)
  const daemon = isUp ? last : undefined
  const here: Check[] = [
    ['the machine', checkMachine({ config: app.config, daemon })],
    ['the bucket', checkBucket(app)],
    ['the clock', checkClock(app)],
    ['the nodes', checkNodes(app)],
    ['files without a row', checkStrays(dataDir)],
    ['the queue and the search index', readLoad(app).then(loadFindings)],
  ]
  if (delivery.mode === 'capture') {
    const message =
      'no mail leaves this machine (delivery.mode is "capture"): its doors, its DNS and the ways to others were not looked at'
    const domain = await getDomainByName(app, account)
    return { domain, findings: [...(await all(here)), finding('hint', 'laboratory', account, message)] }
  }
  const outside: Check[] = [
    ['the doors', checkDoors(app, isUp)],
    ['port 25 of others', checkWayOut(app, reached)],
    ['block lists', checkBlockLists(app)],
  ]
  const [findings, { domain, findings: dns }] = await Promise.all([
    all([...here, ...outside]),
    diagnoseDomain(app, account),
  ])
  return diagnosisOf(domain, [...findings, ...dns])
}

/**
 * What can be looked at while the rows can't be: the machine, whether mailboxd runs, and the doors. It ends in bounded time.
 * @param running as whom may look read it: the lock of the daemon may be among what is forbidden
 */
export async function examineWithoutRows(
  config: Config,
  clock: Clock,
  { isUp, last }: Awaited<ReturnType<typeof readRunning>>,
): Promise<Finding[]> {
  const machine: Check = ['the machine', checkMachine({ config, daemon: isUp ? last : undefined })]
  if (config.delivery.mode === 'capture') return all([machine])
  const dns = createDns({ servers: config.dns.servers, timeoutMs: dnsTimeoutMs })
  return all([machine, ['the doors', checkDoors({ config, clock, dns }, isUp)]])
}

type Check = readonly [what: string, findings: Promise<Finding[]>]

async function all(checks: readonly Check[]): Promise<Finding[]> {
  const found = await Promise.all(
    checks.map(([what, findings]) => {
      const failed = (error: unknown) => [
        notChecked(what, error instanceof Error ? error.message : String(error)),
      ]
      const late = () => [notChecked(what, `it took longer than ${checkMs / 1000} seconds`)]
      return inTime(findings.catch(failed), checkMs, late)
    }),
  )
  return found.flat()
}
