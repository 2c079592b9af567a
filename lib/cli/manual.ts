import type { Command, Option } from 'commander'

/** What a manual page says beside what the command declares. */
export interface ManualPage {
  /** 1 is for everybody's commands, 8 for those of an administrator. */
  readonly section: number
  readonly version: string
  /** The day of the page, as an ISO date: the same package is the same bytes. */
  readonly date: string
  /** Sections of plain text that stand after the commands: heading and paragraphs. */
  readonly more: Readonly<Record<string, readonly string[]>>
}

/** A command and all those below it as a manual page (roff, man(7)). */
export function manualPage(program: Command, { section, version, date, more }: ManualPage): string {
  const name = program.name()
  const [summary = ''] = program.description().split(/\.\s/)
  const lines = [
    `.TH ${name.toUpperCase()} ${section} ${date} "${name} ${version}"`,
    '.SH NAME',
    `${name} \\- ${escaped(lowerFirst(summary.replace(/\.$/, '')))}`,
    '.SH SYNOPSIS',
    `.B ${name}`,
    escaped(program.usage()),
    '.SH DESCRIPTION',
    ...paragraphs(program.description().split('\n\n')),
    '.SH OPTIONS',
    ...program.createHelp().visibleOptions(program).flatMap(option),
    ...(program.commands.length > 0
      ? ['.SH COMMANDS', ...program.commands.flatMap(each => command(each, name))]
      : []),
    ...Object.entries(more).flatMap(([heading, texts]) => [
      `.SH ${heading.toUpperCase()}`,
      ...paragraphs(texts),
    ]),
  ]
  return `${lines.join('\n')}\n`
}

function command(each: Command, above: string): string[] {
  const name = `${above} ${each.name()}`
  if (each.commands.length > 0) {
    return [
      `.SS ${escaped(name)}`,
      escaped(each.description()),
      ...each.commands.flatMap(one => command(one, name)),
    ]
  }
  const args = each.createHelp().visibleArguments(each)
  const options = each.options.filter(one => !one.hidden)
  return [
    '.TP',
    `.B ${escaped(`${name} ${each.usage()}`)}`,
    escaped(each.description()),
    ...(args.some(one => one.description) || options.length > 0 ? ['.RS'] : []),
    ...args
      .filter(one => one.description)
      .flatMap(one => ['.TP', `.I ${escaped(one.name())}`, escaped(one.description)]),
    ...options.flatMap(option),
    ...(args.some(one => one.description) || options.length > 0 ? ['.RE'] : []),
  ]
}

const option = (one: Option) => ['.TP', `.B ${escaped(one.flags)}`, escaped(one.description)]

/** The first stands below its heading, which is a break already. */
const paragraphs = (texts: readonly string[]) =>
  texts.flatMap((text, index) => (index === 0 ? [escaped(text)] : ['.PP', escaped(text)]))

/** A line of roff that begins with a dot or a quote is a request, and a backslash an escape. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^(?=[.'])/gm, '\\&')
}

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1)
