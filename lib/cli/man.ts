import type { Command } from 'commander'
import { exitCodes } from './exit-codes.ts'

export function addManCommand(program: Command): void {
  program
    .command('man')
    .description('print the manual page, as man(1) reads it: mailboxctl man | man -l -')
    .action(() => {
      process.stdout.write(manualOf(program))
    })
}

/** mailboxctl(1) in the words of man(7), from the same commands that are run. */
function manualOf(program: Command): string {
  return `${[
    `.TH MAILBOXCTL 1 "" "mailboxd ${program.version()}" "mailboxd"`,
    '.SH NAME',
    'mailboxctl \\- the admin of mailboxd',
    '.SH SYNOPSIS',
    '.B mailboxctl',
    '[\\fIoptions\\fR] \\fInoun\\fR \\fIverb\\fR [\\fIarguments\\fR]',
    '.SH DESCRIPTION',
    escaped(program.description()),
    '.SH OPTIONS',
    ...optionsOf(program),
    '.SH COMMANDS',
    ...program.commands.flatMap(one => commandsOf(one, one.name())),
    '.SH EXIT STATUS',
    ...exitCodes.flatMap(([code, meaning]) => ['.TP', `.B ${code}`, escaped(meaning)]),
    '.SH ENVIRONMENT',
    '.TP',
    '.B MAILBOXD_CONFIG',
    'The configuration file, where \\-\\-config names none.',
    '.TP',
    '.B NO_COLOR',
    'When it is set, nothing is in colour or bold.',
    '.SH FILES',
    '.TP',
    '.I /etc/mailboxd/mailboxd.toml',
    'The configuration of the system.',
    '.SH SEE ALSO',
    '.BR mailboxd (1)',
  ].join('\n')}\n`
}

function commandsOf(command: Command, path: string): string[] {
  if (command.commands.length > 0) {
    return [
      `.SS ${escaped(path)}: ${escaped(command.description())}`,
      ...command.commands.flatMap(one => commandsOf(one, `${path} ${one.name()}`)),
    ]
  }
  const places = command.registeredArguments.map(one => {
    const name = one.variadic ? `${one.name()}...` : one.name()
    return one.required ? `<${name}>` : `[${name}]`
  })
  return [
    '.TP',
    `.B ${escaped([path, ...places].join(' '))}`,
    escaped(command.description()),
    ...(command.options.length > 0 ? ['.RS', ...optionsOf(command), '.RE'] : []),
  ]
}

function optionsOf(command: Command): string[] {
  return command.options.flatMap(one => ['.TP', `.B ${escaped(one.flags)}`, escaped(one.description)])
}

/** Text in which nothing is a request or an escape of roff. */
function escaped(text: string): string {
  const line = text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('\n', ' ')
  return /^[.']/.test(line) ? `\\&${line}` : line
}
