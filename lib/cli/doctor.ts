import type { Command } from 'commander'
import { readLoad } from '../core/load.ts'
import type { Ctl } from './ctl.ts'
import { diagnose } from './dns.ts'
import { failFor, tellFindings } from './findings.ts'
import { findConfig } from './installation.ts'
import { loadFindings } from './load-findings.ts'
import { canReachPort25, serverFindings } from './server-findings.ts'

/** A mail server that has answered everybody for decades. */
const someMailServer = 'gmail-smtp-in.l.google.com'

export function addDoctorCommand(program: Command, ctl: Ctl): void {
  program
    .command('doctor')
    .description(
      'look at the configuration, the machine and the DNS of the account domain, and tell what to do; exit 0 when all is well, 1 with a warning, 2 with an error',
    )
    .action(async () => {
      const config = await findConfig(ctl.installation())
      const server = await serverFindings(config)
      // A laboratory's mail does not leave by that port.
      const { mode, port: outPort } = config.delivery
      const goesOut = mode !== 'mx' || outPort !== 25 || (await canReachPort25(someMailServer))
      const { load, diagnosis } = await ctl.withApp(async app => ({
        load: loadFindings(await readLoad(app)),
        diagnosis: await diagnose(app, undefined, false),
      }))
      const { domain, findings: dns } = diagnosis
      const port: typeof server = goesOut
        ? []
        : [
            {
              level: 'error',
              code: 'port_25_closed',
              subject: someMailServer,
              message:
                'port 25 of other servers can not be reached from here, so no mail goes out: ask whoever rents you the machine to open it',
              paste: null,
            },
          ]
      const findings = [...server, ...load, ...port, ...dns]
      const well = `${domain.domain} is ${domain.status}, and nothing is wrong`
      ctl
        .output()
        .say({ domain: domain.domain, status: domain.status, findings }, () => tellFindings(findings) || well)
      failFor(findings)
    })
}
