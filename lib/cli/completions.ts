import { completionScript, type Shell } from './completion-script.ts'
import { declareMailboxctl } from './program.ts'

const program = await declareMailboxctl('')

/** The completion for each shell. It is a reading of all commands, which takes half a second; the build makes it (bin/build.ts). */
export const completions: Readonly<Record<Shell, string>> = {
  bash: completionScript(program, 'bash'),
  zsh: completionScript(program, 'zsh'),
  fish: completionScript(program, 'fish'),
}
