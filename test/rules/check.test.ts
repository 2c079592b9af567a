import t from 'tap'
import { runProgram } from '../support/program.ts'
import { root } from './source-tree.ts'

for (const [what, name, ...args] of [
  ['the types fit', 'tsc', '-p', '.'],
  ['the sources have one form and no known mistake', 'biome', 'check'],
] as const) {
  t.test(what, async t => {
    const { code, stdout, stderr } = await runProgram(`node_modules/.bin/${name}`, args, undefined, {
      cwd: root,
    })
    t.equal(code, 0, `${stdout}${stderr}`.slice(0, 5000))
  })
}
