import type { Command } from 'commander'
import { describeConfig, printConfig } from '../config/describe.ts'
import type { Ctl } from './ctl.ts'
import { findConfig } from './open.ts'

export function addConfigCommands(program: Command, ctl: Ctl): void {
  const config = program.command('config').description('the configuration')

  config
    .command('check')
    .description(
      'read the configuration and tell everything that is wrong with it; exit 78 when something is',
    )
    .action(async () => {
      await findConfig(ctl.configPath())
      ctl.output().say({ ok: true }, () => 'the configuration is right')
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
