import type { Command } from 'commander'
import t from 'tap'
import { declareMailboxd } from '../../lib/cli/arguments.ts'
import { declareMailboxctl } from '../../lib/cli/program.ts'

/** The help of a command on a terminal of 100 columns, with what stands behind its options. */
function helpOf(command: Command): string {
  let text = ''
  const writeOut = (more: string) => {
    text += more
  }
  command.configureOutput({ writeOut, getOutHelpWidth: () => 100 })
  command.outputHelp()
  return text
}

t.test('the help of every command fits 100 columns', async t => {
  const commands: Command[] = [declareMailboxd('1.0.0'), await declareMailboxctl('1.0.0')]
  // Those of a command are looked at behind it.
  for (const command of commands) commands.push(...command.commands)
  t.ok(commands.length > 100, `${commands.length}`)
  for (const command of commands) {
    const wide = helpOf(command)
      .split('\n')
      .filter(line => line.length > 100)
    t.strictSame(wide, [], `${command.parent?.name() ?? ''} ${command.name()}`)
  }
  const program = commands[1]!
  t.match(helpOf(program), /^ {2}0 +It was done\b.*$/m)
  const send = helpOf(commands.find(one => one.name() === 'send' && one.parent?.name() === 'message')!)
  t.match(send, /--body <text>[^-]*\(- is the standard input\)/)
  t.notMatch(send, /preset/, 'what commander calls the value of an option that stands alone')
})
