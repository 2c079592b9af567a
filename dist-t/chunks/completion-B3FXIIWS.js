import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{Argument}from"./chunk-VF7AXMDU.js";import"./chunk-N62VOZIV.js";var shells=["bash","zsh","fish"];function addCompletionCommand(program,ctl){program.command("completion").description("print the completion for a shell; the Debian package installs it").addArgument(new Argument("<shell>","which").choices(shells)).action(shell=>{let text=completionScript(program,shell);ctl.output().say({text},()=>text.trimEnd())})}function completionScript(program,shell){return writers[shell](program.name(),stepsOf(program,"",globalOptions(program)))}function stepsOf(command,words,inherited){let commands=command.commands.map(one=>({word:one.name(),meaning:one.description()})),options=command.options.filter(one=>!one.hidden&&one.long!==void 0).map(one=>({word:one.long,meaning:one.description})),known=new Set(options.map(one=>one.word)),next=[...commands,...options,...inherited.filter(one=>!known.has(one.word))],below=command.commands.flatMap(one=>stepsOf(one,`${words} ${one.name()}`.trim(),inherited));return[{words,next},...below]}function globalOptions(program){return[...program.options.filter(one=>one.long!==void 0).map(one=>({word:one.long,meaning:one.description})),{word:"--help",meaning:"tell of a command"}]}var quoted=text=>`'${text.replaceAll("'","'\\''")}'`,writers={bash:(name,steps)=>`# Completion of ${name} for bash; made from its declarations.
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
${steps.map(({words,next})=>`    ${quoted(words)}) echo ${quoted(next.map(one=>one.word).join(" "))} ;;`).join(`
`)}
  esac
}
complete -o default -F _${name} ${name}
`,zsh:(name,steps)=>`#compdef ${name}
# Completion of ${name} for zsh; made from its declarations.
_${name}_next() {
  case $1 in
${steps.map(({words,next})=>`    ${quoted(words)}) next=(${next.map(one=>quoted(`${one.word.replaceAll(":","\\:")}:${one.meaning}`)).join(" ")}) ;;`).join(`
`)}
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
`,fish:(name,steps)=>`# Completion of ${name} for fish; made from its declarations.
function __${name}_at
  set -l words
  for word in (commandline -opc)[2..]
    string match -q -- '-*' $word; or set -a words $word
  end
  test "$words" = "$argv[1]"
end
${steps.flatMap(({words,next})=>next.map(({word,meaning})=>{let what=word.startsWith("--")?`-l ${word.slice(2)}`:`-f -a ${word}`;return`complete -c ${name} -n ${quoted(`__${name}_at ${quoted(words)}`)} ${what} -d ${fishQuoted(meaning)}`})).join(`
`)}
`},fishQuoted=text=>`'${text.replaceAll("\\","\\\\").replaceAll("'","\\'")}'`;export{addCompletionCommand,completionScript};
