import { Command } from 'commander'
import { addCompletionCommand } from './completion.ts'
import { addConfigCommands } from './config.ts'
import type { Ctl } from './ctl.ts'
import { addDomainCommands } from './domain.ts'
import { addEventCommands } from './event.ts'
import { addFeedbackCommands } from './feedback.ts'
import { addInboxCommands } from './inbox.ts'
import { addKeyCommands } from './key.ts'
import { addMemberCommands } from './member.ts'
import { withApp } from './open.ts'
import { createOutput, tellFailure } from './output.ts'
import { addPodCommands } from './pod.ts'
import { addPolicyCommands } from './policy.ts'
import { addQueueCommands } from './queue.ts'
import { addSecretsCommands } from './secrets.ts'
import { addStatusCommand } from './status.ts'
import { addSuppressionCommands } from './suppression.ts'
import { addTlsCommands } from './tls.ts'
import { addWebhookCommands } from './webhook.ts'

/** Runs mailboxctl; gives the exit code. */
export async function runMailboxctl(argv: readonly string[], version: string): Promise<number> {
  // As the daemon does: everything that is written holds mail or keys.
  process.umask(0o077)
  const program = declareMailboxctl(version).exitOverride()
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
export function declareMailboxctl(version: string): Command {
  const program = new Command('mailboxctl')
    .description('The admin of mailboxd. It works on the same database, whether the daemon runs or not.')
    .version(version)
    .option(
      '--config <file>',
      'the configuration file (default: that of /etc/mailboxd, else local mode here)',
    )
    .option('--json', 'answer in JSON')
    .showHelpAfterError('(mailboxctl --help lists the commands)')
  const ctl: Ctl = {
    configPath: () => program.opts<{ config?: string }>().config,
    output: () => createOutput(isJson(program)),
    withApp: work => withApp(ctl.configPath(), work),
  }
  for (const add of [
    addStatusCommand,
    addKeyCommands,
    addPodCommands,
    addInboxCommands,
    addDomainCommands,
    addQueueCommands,
    addPolicyCommands,
    addSuppressionCommands,
    addMemberCommands,
    addWebhookCommands,
    addEventCommands,
    addFeedbackCommands,
    addTlsCommands,
    addSecretsCommands,
    addConfigCommands,
    addCompletionCommand,
  ]) {
    add(program, ctl)
  }
  return program
}

const isJson = (program: Command) => program.opts<{ json?: boolean }>().json === true

function isCommanderExit(error: unknown): error is { exitCode: number } {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('commander.')
}
