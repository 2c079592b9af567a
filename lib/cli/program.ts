import { Command } from 'commander'
import { ConfigFault } from '../config/fault.ts'
import { addBackupCommands } from './backup.ts'
import { addCompactCommand } from './compact.ts'
import { addCompletionCommand } from './completion.ts'
import { addConfigCommands } from './config.ts'
import type { Ctl } from './ctl.ts'
import { addDnsCommands } from './dns.ts'
import { addDoctorCommand } from './doctor.ts'
import { addDomainCommands } from './domain.ts'
import { addEventCommands } from './event.ts'
import { exitCodes } from './exit-codes.ts'
import { addFeedbackCommands } from './feedback.ts'
import { addInboxCommands } from './inbox.ts'
import { addKeyCommands } from './key.ts'
import { addMessageCommands } from './message.ts'
import { type Installation, withApp } from './open.ts'
import { addOperationCommands } from './operations/commands.ts'
import { createOutput, tellFailure } from './output.ts'
import { addQueueCommands } from './queue.ts'
import { addSecretsCommands } from './secrets.ts'
import { addSetupCommand } from './setup.ts'
import { addStatusCommand } from './status.ts'
import { addSuppressionCommands } from './suppression.ts'
import { writeText } from './terminal.ts'
import { addTlsCommands } from './tls.ts'
import { addVerifyCommand } from './verify.ts'
import { addWebhookCommands } from './webhook.ts'

/**
 * Runs mailboxctl; gives the exit code.
 * @param environment MAILBOXD_CONFIG of it names the installation where no option does
 */
export async function runMailboxctl(
  argv: readonly string[],
  version: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  // As the daemon does: everything that is written holds mail or keys.
  process.umask(0o077)
  // Who reads no further (head, less) has enough.
  process.stdout.on('error', error => {
    if (!('code' in error && error.code === 'EPIPE')) throw error
    process.exit(0)
  })
  const program = declareMailboxctl(version, environment)
  try {
    await program.parseAsync(argv, { from: 'user' })
    return 0
  } catch (error) {
    // commander has said what is wrong (or printed the help that was asked for).
    if (isCommanderExit(error)) return error.exitCode === 0 ? 0 : 2
    return tellFailure(error, isJson(program))
  }
}

/** All commands of mailboxctl. Manual and completion are readings of this. */
export function declareMailboxctl(
  version: string,
  environment: Readonly<Record<string, string | undefined>> = {},
): Command {
  const program = new Command('mailboxctl')
    .description('The admin of mailboxd. It works on the same database, whether the daemon runs or not.')
    .version(version)
    .option(
      '--config <file>',
      'the configuration file (default: $MAILBOXD_CONFIG, that of /etc/mailboxd, or local mode in this directory)',
    )
    .option('--data <directory>', 'the data directory of local mode, in the place of a configuration file')
    .option('--json', 'answer in JSON')
    .addHelpText(
      'after',
      `\nExit codes:\n${exitCodes.map(([code, meaning]) => `  ${String(code).padEnd(3)} ${meaning}`).join('\n')}`,
    )
    .showHelpAfterError('(mailboxctl --help lists the commands)')
    .exitOverride()
    .configureOutput({
      writeOut: text => writeText('stdout', text),
      writeErr: text => writeText('stderr', text),
    })
  const ctl: Ctl = {
    installation: () => installationOf(program.opts(), environment),
    isJson: () => isJson(program),
    output: () => createOutput(isJson(program)),
    withApp: work => withApp(ctl.installation(), work),
  }
  for (const add of [
    addSetupCommand,
    addStatusCommand,
    addKeyCommands,
    addOperationCommands,
    addInboxCommands,
    addMessageCommands,
    addDomainCommands,
    addDnsCommands,
    addDoctorCommand,
    addQueueCommands,
    addSuppressionCommands,
    addWebhookCommands,
    addEventCommands,
    addFeedbackCommands,
    addTlsCommands,
    addSecretsCommands,
    addVerifyCommand,
    addCompactCommand,
    addBackupCommands,
    addConfigCommands,
    addCompletionCommand,
  ]) {
    add(program, ctl)
  }
  return program
}

const isJson = (program: Command) => program.opts<{ json?: boolean }>().json === true

function installationOf(
  { config, data }: Installation,
  { MAILBOXD_CONFIG: named }: Readonly<Record<string, string | undefined>>,
): Installation {
  if (config !== undefined && data !== undefined) {
    throw new ConfigFault('mailboxctl', [
      {
        path: '',
        message: '--config names a server and --data an installation of local mode: give one of them',
      },
    ])
  }
  if (config !== undefined) return { config }
  if (data !== undefined) return { data }
  return named === undefined || named === '' ? {} : { config: named }
}

function isCommanderExit(error: unknown): error is { exitCode: number } {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('commander.')
}
