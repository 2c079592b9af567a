import { Command } from 'commander'

export interface DaemonArguments {
  /** The configuration file; without one, local mode. */
  readonly config?: string
  /** Where local mode keeps its data. */
  readonly data?: string
}

/** The arguments of mailboxd. Its manual is a reading of this. */
export function declareMailboxd(version: string): Command {
  return new Command('mailboxd')
    .description(
      'The mail server that gives software agents real email inboxes.\n\n' +
        'Without --config it runs in local mode: on loopback, with its data in ./mailboxd-data, and no mail leaves the machine.',
    )
    .version(version)
    .option(
      '--config <file>',
      'run as a server with this configuration (mailboxctl config describe tells of it)',
    )
    .option('--data <directory>', 'where local mode keeps its data (default: ./mailboxd-data)')
    .allowExcessArguments(false)
}

/** Reads the arguments of mailboxd; a number is the exit code of a process that has nothing else to do. */
export function readDaemonArguments(argv: readonly string[], version: string): DaemonArguments | number {
  const program = declareMailboxd(version).exitOverride()
  try {
    program.parse(argv, { from: 'user' })
    return program.opts<DaemonArguments>()
  } catch (error) {
    const isDone = error instanceof Error && 'exitCode' in error && error.exitCode === 0
    return isDone ? 0 : 2
  }
}
