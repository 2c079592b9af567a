import t from 'tap'
import { runProgram } from '../support/program.ts'
import { root } from './source-tree.ts'

/** Of tsc, which is in Go: it tidies its memory up half as often, and types are looked at once, not by four that know nothing of each other. */
const env = { GOGC: '400' }

for (const [what, name, ...args] of [
  ['the types fit', 'tsc', '-p', '.', '--checkers', '1'],
  ['the sources have one form and no known mistake', 'biome', 'check'],
] as const) {
  t.test(what, async t => {
    const { code, stdout, stderr } = await runProgram(`node_modules/.bin/${name}`, args, undefined, {
      cwd: root,
      env,
      timeoutMs: 300_000, // of a busy machine with two processors
    })
    t.equal(code, 0, `${stdout}${stderr}`.slice(0, 5000))
  })
}
