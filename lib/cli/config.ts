import type { Command } from 'commander'
import { describeConfig, printConfig } from '../config/describe.ts'
import { ConfigFault } from '../config/fault.ts'
import { checkCertificates } from './certificates.ts'
import type { Ctl } from './ctl.ts'
import { becomeOwner, findConfig, systemConfigPath } from './open.ts'

export function addConfigCommands(program: Command, ctl: Ctl): void {
  const config = program.command('config').description('the configuration')

  config
    .command('check')
    .description(
      'read the configuration and tell everything that is wrong with it; exit 78 when something is',
    )
    .action(async () => {
      const path = ctl.configPath() ?? systemConfigPath
      const config = await findConfig(ctl.configPath())
      // Files that root may read and the daemon may not are a fault.
      becomeOwner(config.data_dir)
      const { faults, warnings } = await checkCertificates(config)
      if (faults.length > 0) throw new ConfigFault(path, faults)
      const lines = warnings.map(one => `${path}: ${one.path}: warning: ${one.message}`)
      ctl.output().say({ ok: true, warnings }, () => [...lines, 'the configuration is right'].join('\n'))
    })

  config
    .command('print')
    .description('print every setting as it is in force')
    .action(async () => {
      const found = await findConfig(ctl.configPath())
      ctl.output().say(found, () => printConfig(found).trimEnd())
    })

  config
    .command('describe')
    .description('tell of every setting: type, default, meaning')
    .action(() => {
      const text = describeConfig().trimEnd()
      ctl.output().say({ text }, () => text)
    })
}
