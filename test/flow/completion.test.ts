import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCtl } from '../support/local-daemon.ts'
import { without } from '../support/peers.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

/** What each shell itself offers where the cursor is at the end of the line; it is asked on a terminal, as a person would. */
t.test('bash completes', { skip: without('bash-completion', 'python3') }, async t => {
  const dir = temporaryDir(t)
  const path = join(dir, 'mailboxctl')
  writeFileSync(path, (await runCtl(dir, 'completion', 'bash')).stdout)
  const script =
    'source /usr/share/bash-completion/bash_completion; source "$1"; bind "set show-all-if-ambiguous on"; PS1="ready> "\n'
  writeFileSync(join(dir, 'rc'), script.replace('$1', path))
  const shell = ['bash', '--noprofile', '--rcfile', join(dir, 'rc'), '-i']
  const said = await typed(dir, shell, [
    ['mailboxctl inbox cr', /create/],
    ['mailboxctl --json queue ho', /hold[\s\S]*holds/],
    ['mailboxctl inbox list --li', /--limit/],
  ])
  t.equal(said.code, 0, said.stdout)
})

t.test('zsh completes', { skip: without('zsh', 'python3') }, async t => {
  const dir = temporaryDir(t)
  writeFileSync(join(dir, '_mailboxctl'), (await runCtl(dir, 'completion', 'zsh')).stdout)
  writeFileSync(
    join(dir, '.zshrc'),
    `fpath=(${dir} $fpath); autoload -Uz compinit; compinit -u -d ${dir}/dump; setopt no_beep auto_list; unsetopt list_ambiguous; PS1='ready> '\n`,
  )
  const said = await typed(
    dir,
    ['zsh', '-i'],
    [
      ['mailboxctl inbox cr', /create/],
      ['mailboxctl --json queue ho', /hold +-- keep what is queued[\s\S]*holds +--/],
      ['mailboxctl inbox list --li', /--limit/],
    ],
  )
  t.equal(said.code, 0, said.stdout)
})

t.test('fish completes', { skip: without('fish') }, async t => {
  const dir = temporaryDir(t)
  const path = join(dir, 'mailboxctl.fish')
  writeFileSync(path, (await runCtl(dir, 'completion', 'fish')).stdout)
  const offered = async (line: string) => {
    const env = { HOME: dir, XDG_CONFIG_HOME: dir, XDG_DATA_HOME: dir }
    const { stdout, stderr } = await runProgram('fish', ['-c', `source ${path}; complete -C '${line}'`], '', {
      env,
      cwd: dir,
    })
    t.equal(stderr, '')
    return stdout.trim().split('\n')
  }
  t.match(await offered('mailboxctl inbox cr'), [/^create\tMake an inbox/])
  t.match(await offered('mailboxctl --json queue ho'), [/^hold\tkeep/, /^holds\tlist/])
  t.match(await offered('mailboxctl inbox list --li'), [/^--limit\t/])
  t.match(await offered('mailboxctl se'), [/^secrets\t/, /^setup\t/])
})

/** Types each line and two tabs at a shell on a terminal, and waits for what is offered; then the line is taken back. */
function typed(dir: string, shell: readonly string[], lines: readonly (readonly [string, RegExp])[]) {
  const steps = lines.flatMap(([line, offered]) => [
    { see: 'ready> ', type: `${line}\t\t`, end: '' },
    { see: offered.source, type: '\x15', end: '\n' },
  ])
  const reactions = JSON.stringify([...steps, { see: 'ready> ', type: 'exit' }])
  const env = { HOME: dir, ZDOTDIR: dir, TERM: 'dumb', COLUMNS: '200' }
  const terminal = join(import.meta.dirname, '..', 'support', 'terminal.py')
  return runProgram('python3', [terminal, reactions, ...shell], '', { env, cwd: dir })
}
