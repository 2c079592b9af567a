import type { Command } from 'commander'
import { compact } from '../core/compact.ts'
import type { Ctl } from './ctl.ts'
import { commandOf } from './words.ts'

const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`

export function addCompactCommand(program: Command, ctl: Ctl): void {
  commandOf(program, 'compact').action(async () => {
    const done = await ctl.withApp(compact)
    ctl
      .output()
      .say(done, () => `the database has ${mebibytes(done.after)} now, and had ${mebibytes(done.before)}`)
  })
}
