import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { namedFaults } from '../support/named-faults.ts'
import { root } from './source-tree.ts'

t.test('every fault that was named can still be made, once, and its tests are there', async t => {
  for (const { what, file, was, is, tests } of namedFaults) {
    const source = readFileSync(join(root, file), 'utf8')
    t.equal(source.split(was).length, 2, `${what}: in ${file}`)
    t.not(was, is)
    for (const test of tests) t.ok(existsSync(join(root, test)), `${what}: ${test}`)
  }
})
