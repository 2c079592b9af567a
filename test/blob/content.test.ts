import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readStart } from '../../lib/blob/content.ts'

t.test(
  'the start of a file is all of a short one, and of a longer one enough to see that there is more',
  async t => {
    const path = join(t.testdir(), 'raw')
    for (const sizeBytes of [0, 1, 99, 100, 101, 104, 105, 106, 100_000]) {
      const bytes = Buffer.alloc(sizeBytes, 'abc')
      writeFileSync(path, bytes)
      const start = await readStart({ kind: 'file', path, sizeBytes, sha256: '' }, 100)
      t.ok(start.equals(bytes.subarray(0, start.length)), `${sizeBytes}: it is the start`)
      if (sizeBytes <= 100) t.equal(start.length, sizeBytes)
      else t.ok(start.length > 100, `${sizeBytes}: more than was asked for`)
    }
  },
)
