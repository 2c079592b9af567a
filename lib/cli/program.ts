import { Command, Help } from 'commander'
import { nearestWord } from '../base/text.ts'
import { ConfigFault } from '../config/fault.ts'
import { addAllCommands, addCommands } from './commands.ts'
import type { Ctl } from './ctl.ts'
import { exitCodes } from './exit-codes.ts'
import { helpList } from './help-text.ts'
import type { Installation } from './installation.ts'
import { createOutput, tellFailure } from './output.ts'
import { endOutput, writeJson, writeText } from './terminal.ts'
import { words } from './words.ts'

/**
 * Runs mailboxctl; gives the exit code.
 * @param environment MAILBOXD_CONFIG of it names the installation where no option does
 * @param completion made by who reads all commands
 */
export async function runMailboxctl(
  argv: readonly string[],
  version: string,
  environment: Readonly<Record<string, string | undefined>>,
  completion: Ctl['completion'],
): Promise<number> {
  // As the daemon does: everything that is written holds mail or keys.
  process.umask(0o077)
  const wantsJson = argv.includes('--json')
  process.stdout.on('error', error => endOutput(error, wantsJson))
  const { program, ctl } = declareProgram(version, environment, completion, wantsJson)
  try {
    const { operands } = program.parseOptions([...argv])
    const [word, ...below] = operands
    const isHelp = word === 'help' && below.length > 0
    const first = isHelp ? below[0]! : word
    await addCommands(program, ctl, first)
    if (!wantsJson) nameOwnHelp(program.commands, 'mailboxctl')
    suggestByMeaning(program)
    if (isHelp && !Object.hasOwn(words, first!)) program.error(`error: unknown command '${first}'`)
    await program.parseAsync(isHelp ? [...below, '--help'] : argv, { from: 'user' })
    return 0
  } catch (error) {
    // commander has said what is wrong (or printed the help that was asked for).
    if (isCommanderExit(error)) return error.exitCode === 0 ? 0 : 2
    return tellFailure(error, isJson(program))
  }
}

/** Who calls a command wrongly is told whose help says how. @param before the words in front of theirs */
function nameOwnHelp(commands: readonly Command[], before: string): void {
  for (const command of commands) {
    const name = `${before} ${command.name()}`
    const isGroup = command.commands.length > 0
    command.showHelpAfterError(`(${name} --help ${isGroup ? 'lists its commands' : 'says what it takes'})`)
    nameOwnHelp(command.commands, name)
  }
}

/** Words of other programs, and the commands that mean the same, best first. A word that is here is never matched by its spelling. */
const sameMeaning: Readonly<Record<string, readonly string[]>> = {
  ...each(['delete', 'remove', 'rm', 'del', 'drop', 'destroy'], ['delete', 'remove', 'revoke', 'cancel']),
  ...each(['show', 'get', 'view', 'info', 'describe', 'print'], ['show', 'get', 'describe', 'print', 'list']),
  ...each(['read', 'cat', 'open'], ['show', 'get']),
  ...each(['add', 'create', 'new', 'make'], ['add', 'create', 'set']),
  ...each(['set', 'update', 'edit', 'change'], ['update', 'set', 'create']),
  ...each(['list', 'ls', 'all'], ['list', 'get', 'show']),
  ...each(['start', 'stop', 'restart', 'reload'], []),
  ...each(['version', 'log', 'logs'], []),
}

/** Programs for what mailboxctl itself does not do. */
const elsewhere: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['start', 'stop', 'restart', 'reload'].map(word => [word, `systemctl ${word} mailboxd`]),
  ),
  log: 'journalctl -u mailboxd',
  logs: 'journalctl -u mailboxd',
  version: 'mailboxctl --version',
}

function each(words: readonly string[], meant: readonly string[]): Record<string, readonly string[]> {
  return Object.fromEntries(words.map(word => [word, meant]))
}

/** What a person who typed an unknown command means: never a word that is merely spelt alike and does the opposite. */
function suggestionFor(typed: string, names: readonly string[], isFirst: boolean): string | undefined {
  if (isFirst && Object.hasOwn(elsewhere, typed)) return elsewhere[typed]
  if (Object.hasOwn(sameMeaning, typed)) return sameMeaning[typed]!.find(one => names.includes(one))
  return nearestWord(typed, names)
}

/** Has each group of commands suggest by meaning, where commander suggests what is spelt alike (`queue delete`: release). */
function suggestByMeaning(group: Command): void {
  const { outputError } = group.configureOutput()
  const names = group.commands.map(one => one.name())
  group.configureOutput({
    outputError: (text, write) => {
      const [, typed] = /^error: unknown command '([^'\n]*)'/.exec(text) ?? []
      if (typed === undefined) return outputError!(text, write)
      const meant = suggestionFor(typed, names, group.parent === null)
      const without = text.replace(/\n\(Did you mean [^\n]*\?\)/, '').trimEnd()
      outputError!(`${without}${meant === undefined ? '' : `\n(Did you mean ${meant}?)`}\n`, write)
    },
  })
  for (const one of group.commands) if (one.commands.length > 0) suggestByMeaning(one)
}

/** All commands of mailboxctl. Manual and completion are readings of this. */
export async function declareMailboxctl(version: string): Promise<Command> {
  const { program, ctl } = declareProgram(version, {}, async () => '', false)
  await addAllCommands(program, ctl)
  return program
}

/** mailboxctl without its commands. @param wantsJson whether what is wrong with the command line is told in JSON, too */
function declareProgram(
  version: string,
  environment: Readonly<Record<string, string | undefined>>,
  completion: Ctl['completion'],
  wantsJson: boolean,
): { program: Command; ctl: Ctl } {
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
      helpList(
        'Exit codes:',
        exitCodes.map(([code, meaning]) => [String(code), meaning]),
      ),
    )
    .showHelpAfterError(wantsJson ? false : '(mailboxctl --help lists the commands)')
    .configureHelp({
      subcommandTerm(command): string {
        // Here it is words that are listed, whatever is known by now of what they take.
        return command.parent?.name() === 'mailboxctl'
          ? command.name()
          : Help.prototype.subcommandTerm.call(this, command)
      },
    })
    .exitOverride()
    .configureOutput({
      writeOut: text => writeText('stdout', text),
      writeErr: text => writeText('stderr', text),
      outputError: (text, write) => {
        if (!wantsJson) return write(text)
        const message = text
          .trim()
          .replace(/^error: /, '')
          .replaceAll('\n', ' ')
        writeJson('stderr', { error: 'wrong_command_line', message })
      },
    })
  const ctl: Ctl = {
    installation: () => installationOf(program.opts(), environment),
    isJson: () => isJson(program),
    completion,
    output: () => createOutput(isJson(program)),
    withRows: async work => (await import('./rows.ts')).withRows(ctl.installation(), work),
    withDesk: async work => (await import('./rows.ts')).withDesk(ctl.installation(), work),
    withApp: async work => (await import('./open.ts')).withApp(ctl.installation(), work),
  }
  return { program, ctl }
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
