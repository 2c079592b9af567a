import { tellNotRunning } from '../base/faults.ts'
import { systemClock } from '../base/time.ts'
import type { Fault } from '../config/fault.ts'
import type { Config } from '../config/load.ts'
import { checkPairs, type PairFinding } from '../tls/check.ts'

/**
 * What is wrong with the certificates that the configuration names, as faults of its settings: what keeps mailboxd from its start, what
 * is out of its time and shown all the same, and what is doubtful.
 */
export async function checkCertificates(config: Config): Promise<{
  readonly faults: Fault[]
  readonly outOfTime: Fault[]
  readonly warnings: Fault[]
}> {
  const { tls, acme, hostname } = config
  const issued = acme.directory === undefined ? [] : acme.names.length > 0 ? acme.names : [hostname]
  const found = await checkPairs(tls.certificate, { hostname, issued, now: systemClock.now() })
  const faultOf = ({ index, file, message }: PairFinding) => ({
    path: `tls.certificate[${index}].${file}`,
    message,
  })
  const laterOf = ({ index, file }: PairFinding) => tellNotRunning(tls.certificate[index]![file])
  return {
    faults: found.faults.filter(one => laterOf(one) === undefined).map(faultOf),
    outOfTime: found.outOfTime.map(faultOf),
    warnings: [
      ...found.warnings.map(faultOf),
      ...found.faults.flatMap(one => {
        const message = laterOf(one)
        return message === undefined ? [] : [{ ...faultOf(one), message: `${message}: it was not looked at` }]
      }),
    ],
  }
}
