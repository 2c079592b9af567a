import t from 'tap'
import { runProgram } from '../support/program.ts'
import { root } from './source-tree.ts'

for (const [name, ...args] of [
  ['tsc', '-p', '.'],
  ['biome', 'check'],
] as const) {
  t.test(`${name} finds nothing`, async t => {
    const { code, stdout, stderr } = await runProgram(`node_modules/.bin/${name}`, args, undefined, {
      cwd: root,
    })
    t.equal(code, 0, `${stdout}${stderr}`.slice(0, 5000))
  })
}
