import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { nodeName } from '../../../lib/core/nodes/node-name.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

t.test('a data directory has one name for good, whoever asks first', async t => {
  const dir = temporaryDir(t)
  const names = await Promise.all(Array.from({ length: 5 }, () => nodeName(dir)))
  t.match(names[0], /^[a-z0-9]{16}$/)
  t.equal(new Set([...names, await nodeName(dir)]).size, 1)
  t.strictSame(readdirSync(dir), ['node'])
  t.not(await nodeName(temporaryDir(t)), names[0])
  writeFileSync(join(dir, 'node'), 'chosen\n')
  t.equal(await nodeName(dir), 'chosen')
})
