import type { Command } from 'commander'
import { describeConfig, nearestSetting, printConfig } from '../config/describe.ts'
import { ConfigFault } from '../config/fault.ts'
import { checkCertificates } from './certificates.ts'
import type { Ctl } from './ctl.ts'
import { becomeDaemonUser, configSource, findConfig, systemConfigPath } from './installation.ts'
import { checkConfigFile, checkData, checkSecretFiles } from './secret-files.ts'
import { databaseFindings } from './server-findings.ts'
import { commandOf } from './words.ts'

const checkedAsRoot =
  'there is neither a data directory nor a user mailboxd, so the files were read as root: whether the daemon may read them is not known'
const nothingToCheck = `there is no ${systemConfigPath} and no --config, so nothing was checked: mailboxd runs in local mode, on loopback, with its data in ./mailboxd-data, and no mail leaves the machine. To run a server, let mailboxctl setup write its configuration, or begin with a copy of mailboxd.example.toml`

export function addConfigCommands(program: Command, ctl: Ctl): void {
  const config = commandOf(program, 'config')

  config
    .command('check')
    .description(
      'read the configuration and tell everything that is wrong with it; exit 78 when something is, or there is none',
    )
    .allowExcessArguments()
    .action(async (_options: unknown, command: Command) => {
      const [file] = command.args
      if (file !== undefined) {
        command.error(`error: name the file with --config: mailboxctl config check --config ${file}`)
      }
      const source = configSource(ctl.installation())
      // `config check && systemctl restart mailboxd` must not go on with a file that is not there.
      if (source === 'local mode') throw new ConfigFault(source, [{ path: '', message: nothingToCheck }])
      const config = await findConfig(ctl.installation())
      // Files that root may read and the daemon may not are a fault.
      const isDaemonUser = becomeDaemonUser(config.data_dir, source)
      const certificates = await checkCertificates(config)
      const found = [
        await checkConfigFile(source),
        certificates,
        await checkSecretFiles(config),
        await checkData(config),
      ]
      const faults = found.flatMap(one => one.faults)
      const inClear = databaseFindings(config).map(({ message }) => ({ path: 'database', message }))
      const warnings = [...certificates.outOfTime, ...found.flatMap(one => one.warnings), ...inClear]
      if (faults.length > 0) throw new ConfigFault(source, faults)
      if (!isDaemonUser) warnings.push({ path: '', message: checkedAsRoot })
      const lines = warnings.map(one =>
        [source, one.path, 'warning', one.message].filter(part => part !== '').join(': '),
      )
      ctl.output().say({ ok: true, warnings }, () => [...lines, 'the configuration is right'].join('\n'))
    })

  config
    .command('print')
    .description('print every setting as it is in force')
    .action(async () => {
      const found = await findConfig(ctl.installation())
      ctl.output().say(found, () => printConfig(found).trimEnd())
    })

  config
    .command('describe')
    .description('tell of every setting: type, default, meaning')
    .argument('[name]', 'of a table (smtp) or of a setting (smtp.max_size), to be told of it alone')
    .action((name: string | undefined, _options: unknown, command: Command) => {
      const text = describeConfig(name)?.trimEnd()
      if (name !== undefined && text === undefined) {
        const near = nearestSetting(name)
        const meant = near === undefined ? 'without a name it lists all there are' : `did you mean ${near}?`
        command.error(`error: no table and no setting is called ${name}; ${meant}`, { exitCode: 2 })
      }
      ctl.output().say({ text }, () => text ?? '')
    })
}
