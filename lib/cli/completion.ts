import type { Command } from 'commander'
import { Refused } from './output.ts'

const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

/** A command by its words (none: the program itself) and what may stand behind them. */
interface Place {
  readonly path: string
  readonly words: readonly { readonly word: string; readonly help: string }[]
}

export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('print what completes commands and options, for a shell to read')
    .addArgument(program.createArgument('<shell>', 'which shell').choices(shells))
    .action((shell: Shell) => {
      process.stdout.write(`${scriptFor(shell, placesOf(program, ''))}\n`)
    })
}

/** Every command with what may follow it, from the same commands that are run. */
function placesOf(command: Command, path: string): Place[] {
  const shared = ['--json', '--config', '--data', '--help'].map(word => ({ word, help: '' }))
  const words = [
    ...command.commands.map(one => ({ word: one.name(), help: one.description() })),
    ...command.options.map(one => ({ word: one.long ?? one.flags, help: one.description })),
    ...(path === '' ? [{ word: '--help', help: 'display help' }] : shared),
  ]
  const inner = command.commands.flatMap(one => placesOf(one, `${path} ${one.name()}`.trim()))
  return [{ path, words }, ...inner]
}

function scriptFor(shell: Shell, places: readonly Place[]): string {
  switch (shell) {
    case 'bash':
      return bash(places)
    case 'zsh':
      // Its own way to take what bash has.
      return `#compdef mailboxctl\nautoload -U +X bashcompinit && bashcompinit\n${bash(places)}`
    case 'fish':
      return places.flatMap(fishLines).join('\n')
    default:
      throw new Refused(`there is no completion for ${shell satisfies never}`)
  }
}

function bash(places: readonly Place[]): string {
  const cases = places.map(
    ({ path, words }) => `    '${path}') all='${words.map(one => one.word).join(' ')}' ;;`,
  )
  return `_mailboxctl() {
  local word path='' all=''
  local -i at
  for ((at = 1; at < COMP_CWORD; at++)); do
    word=\${COMP_WORDS[at]}
    case $word in -*) continue ;; esac
    case " $(_mailboxctl_nouns "$path") " in *" $word "*) path="\${path:+$path }$word" ;; esac
  done
  all=$(_mailboxctl_words "$path")
  COMPREPLY=($(compgen -W "$all" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
_mailboxctl_nouns() {
  _mailboxctl_words "$1" | tr ' ' '\\n' | grep -v '^-' | tr '\\n' ' '
}
_mailboxctl_words() {
  local all=''
  case $1 in
${cases.join('\n')}
  esac
  printf '%s' "$all"
}
complete -o default -F _mailboxctl mailboxctl`
}

function fishLines({ path, words }: Place): string[] {
  const [noun, verb] = path.split(' ')
  const verbs = words.filter(one => !one.word.startsWith('-'))
  const condition =
    path === ''
      ? '__fish_use_subcommand'
      : verb === undefined
        ? `__fish_seen_subcommand_from ${noun}${verbs.length > 0 ? `; and not __fish_seen_subcommand_from ${verbs.map(one => one.word).join(' ')}` : ''}`
        : `__fish_seen_subcommand_from ${noun}; and __fish_seen_subcommand_from ${verb}`
  return words.map(({ word, help }) => {
    const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`
    const quoted = help.split('\n')[0]!.replaceAll(/[\\']/g, '\\$&')
    return `complete -c mailboxctl -f -n '${condition}' ${what} -d '${quoted}'`
  })
}
