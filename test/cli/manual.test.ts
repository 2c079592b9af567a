import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { declareMailboxd } from '../../lib/cli/arguments.ts'
import { manualPage } from '../../lib/cli/manual.ts'
import { declareMailboxctl } from '../../lib/cli/program.ts'
import { without } from '../support/peers.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const page = { section: 8, version: '1.0.0', date: '2026-11-22', more: { Files: ['One.', '.A dot first.'] } }

t.test(
  'man and mandoc have nothing to say against the manual pages',
  { skip: without('man', 'mandoc') },
  async t => {
    const dir = temporaryDir(t)
    for (const program of [declareMailboxd('1.0.0'), await declareMailboxctl('1.0.0')]) {
      const path = join(dir, `${program.name()}.8`)
      writeFileSync(path, manualPage(program, page))
      const env = { LC_ALL: 'C.UTF-8', MANWIDTH: '100', MANROFFSEQ: '' }
      const shown = await runProgram('man', ['--warnings=w', '-l', path], '', { env })
      t.strictSame([shown.code, shown.stderr], [0, ''])
      t.match(shown.stdout, /\n +\.A dot first\.\n/)
      const judged = await runProgram('mandoc', ['-Tlint', '-W', 'warning', path])
      t.strictSame([judged.code, judged.stdout], [0, ''])
    }
  },
)
