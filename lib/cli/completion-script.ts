import type { Command } from 'commander'

/** The shells that have one. */
export type Shell = 'bash' | 'zsh' | 'fish'

/** What may follow the words of a command: the commands and options below it, each with what it is for. */
interface Step {
  /** The words so far, without the program: '' or `inbox list`. */
  readonly words: string
  readonly next: readonly { readonly word: string; readonly meaning: string }[]
}

/** The completion of a command and all those below it, as a file for one shell. */
export function completionScript(program: Command, shell: Shell): string {
  return writers[shell](program.name(), stepsOf(program, '', globalOptions(program)))
}

function stepsOf(command: Command, words: string, inherited: Step['next']): Step[] {
  const commands = command.commands.map(one => ({ word: one.name(), meaning: one.description() }))
  const options = command.options
    .filter(one => !one.hidden && one.long !== undefined)
    .map(one => ({ word: one.long!, meaning: one.description }))
  const known = new Set(options.map(one => one.word))
  const next = [...commands, ...options, ...inherited.filter(one => !known.has(one.word))]
  const below = command.commands.flatMap(one => stepsOf(one, `${words} ${one.name()}`.trim(), inherited))
  return [{ words, next }, ...below]
}

function globalOptions(program: Command): Step['next'] {
  return [
    ...program.options
      .filter(one => one.long !== undefined)
      .map(one => ({ word: one.long!, meaning: one.description })),
    { word: '--help', meaning: 'tell of a command' },
  ]
}

/** In single quotes of a shell. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

const writers: Record<Shell, (name: string, steps: readonly Step[]) => string> = {
  bash: (name, steps) => `# Completion of ${name} for bash; made from its declarations.
_${name}() {
  local at=\${COMP_WORDS[COMP_CWORD]} words= word next=
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in -*) ;; *) case " $(_${name}_next "$words") " in *" $word "*) words="\${words:+$words }$word" ;; esac ;; esac
  done
  next=$(_${name}_next "$words")
  COMPREPLY=($(compgen -W "$next" -- "$at"))
}
_${name}_next() {
  case $1 in
${steps.map(({ words, next }) => `    ${quoted(words)}) echo ${quoted(next.map(one => one.word).join(' '))} ;;`).join('\n')}
  esac
}
complete -o default -F _${name} ${name}
`,
  zsh: (name, steps) => `#compdef ${name}
# Completion of ${name} for zsh; made from its declarations.
_${name}_next() {
  case $1 in
${steps.map(({ words, next }) => `    ${quoted(words)}) next=(${next.map(one => quoted(`${one.word.replaceAll(':', '\\:')}:${one.meaning}`)).join(' ')}) ;;`).join('\n')}
    *) next=() ;;
  esac
}
_${name}() {
  local taken= word
  local -a next
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ $word == -* ]] && continue
    _${name}_next "$taken"
    (( \${next[(I)$word:*]} )) && taken="\${taken:+$taken }$word"
  done
  _${name}_next "$taken"
  _describe ${quoted(name)} next || _files
}
_${name} "$@"
`,
  fish: (name, steps) => `# Completion of ${name} for fish; made from its declarations.
function __${name}_at
  set -l words
  for word in (commandline -opc)[2..]
    string match -q -- '-*' $word; or set -a words $word
  end
  test "$words" = "$argv[1]"
end
${steps
  .flatMap(({ words, next }) =>
    next.map(({ word, meaning }) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`
      return `complete -c ${name} -n ${quoted(`__${name}_at ${quoted(words)}`)} ${what} -d ${fishQuoted(meaning)}`
    }),
  )
  .join('\n')}
`,
}

const fishQuoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
