import { Argument, type Command } from 'commander'
import type { Shell } from './completion-script.ts'
import type { Ctl } from './ctl.ts'
import { commandOf } from './words.ts'

const shells: readonly Shell[] = ['bash', 'zsh', 'fish']

export function addCompletionCommand(program: Command, ctl: Ctl): void {
  commandOf(program, 'completion')
    .addArgument(new Argument('<shell>', 'which').choices(shells))
    .action(async (shell: Shell) => {
      const text = await ctl.completion(shell)
      ctl.output().say({ text }, () => text.trimEnd())
    })
}
