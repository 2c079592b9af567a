import { Command, InvalidArgumentError } from 'commander'

export interface DaemonArguments {
  /** The configuration file; without one, local mode. */
  readonly config?: string
  /** Where local mode keeps its data. */
  readonly data?: string
  /** The ports of local mode: of the API, and of SMTP. */
  readonly port?: number
  readonly smtpPort?: number
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
    .option(
      '--port <port>',
      'where local mode answers the API (default: 8025, or the one of the last start)',
      port,
    )
    .option(
      '--smtp-port <port>',
      'where local mode takes mail (default: 2525, or the one of the last start)',
      port,
    )
    .allowExcessArguments(false)
    .showHelpAfterError('(mailboxd --help lists the options)')
}

function port(text: string): number {
  const number = Number(text)
  if (/^\d{1,5}$/.test(text) && number <= 65_535) return number
  throw new InvalidArgumentError('It must be a port: 1 to 65535, or 0 for any that is free.')
}

/**
 * Reads the arguments of mailboxd; a number is the exit code of a process that has nothing else to do.
 * @param environment MAILBOXD_CONFIG of it names the installation for mailboxctl alone: a daemon is told which one it is
 */
export function readDaemonArguments(
  argv: readonly string[],
  version: string,
  { MAILBOXD_CONFIG: named = '' }: Readonly<Record<string, string | undefined>>,
): DaemonArguments | number {
  const program = declareMailboxd(version).exitOverride()
  try {
    program.parse(argv, { from: 'user' })
    const given = program.opts<DaemonArguments>()
    const isOfLocal = given.data !== undefined || given.port !== undefined || given.smtpPort !== undefined
    if (given.config !== undefined && isOfLocal) {
      program.error(
        'error: --data, --port and --smtp-port are of local mode; with --config the file says it',
        {
          exitCode: 2,
        },
      )
    }
    if (given.config === undefined && !isOfLocal && named !== '') {
      program.error(
        `error: MAILBOXD_CONFIG names a server for mailboxctl: start that one with --config ${named}, or say --data for local mode`,
        { exitCode: 2 },
      )
    }
    return given
  } catch (error) {
    const isDone = error instanceof Error && 'exitCode' in error && error.exitCode === 0
    return isDone ? 0 : 2
  }
}
