import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { BackupFault } from '../../../lib/base/faults.ts'
import {
  isUnfinished,
  markFinished,
  markUnfinished,
  removeLeavings,
  requireFinished,
} from '../../../lib/core/backup/unfinished.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

t.test('half of an installation is told, until it is whole or gone', async t => {
  const dir = temporaryDir(t)
  requireFinished(dir)
  for (const end of [markFinished, removeLeavings]) {
    await markUnfinished(dir)
    mkdirSync(join(dir, 'raw'), { recursive: true })
    t.equal(isUnfinished(dir), true)
    t.throws(() => requireFinished(dir), BackupFault)
    t.throws(() => requireFinished(dir), /was cut off.*run mailboxctl restore again/)
    await end(dir)
    t.equal(isUnfinished(dir), false)
    requireFinished(dir)
  }
})
