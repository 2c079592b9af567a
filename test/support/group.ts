/**
 * Runs test files one after another in this process: `bin/node test/support/group.ts FILE…`. To load what a test needs takes longer than most
 * tests do, and is done once for all of them here. Each file is a subtest by its name.
 */

import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** tap calls its fixtures' folders by the arguments. */
const files = process.argv.splice(2)
const ownTap = new URL('current-test.ts', import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    return specifier === 'tap' && context.parentURL !== ownTap
      ? { url: ownTap, shortCircuit: true }
      : next(specifier, context)
  },
})

const { beginFile, t } = await import('./current-test.ts')

for (const file of files) {
  await t.test(file, async t => {
    beginFile(t)
    await import(pathToFileURL(resolve(file)).href)
  })
}
