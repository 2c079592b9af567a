import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, cpSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

const root = join(import.meta.dirname, '..', '..')

t.test('npm run dev starts again when a source changes, and ends on SIGTERM', async t => {
  const dir = temporaryDir(t)
  for (const path of ['bin', 'config', 'lib', 'package.json']) {
    cpSync(join(root, path), join(dir, path), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'))
  const child = spawn(process.execPath, ['bin/dev.ts', '--data', join(dir, 'data')], { cwd: dir })
  t.teardown(() => child.kill('SIGKILL'))
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      said += text
    })
  }
  const starts = () => said.split('"msg":"ready"').length - 1
  await until('the first start', () => starts() === 1)

  const broken = join(dir, 'lib/base/broken.ts')
  writeFileSync(broken, 'export const = 1\n')
  await until('a second start', () => starts() === 2)
  appendFileSync(join(dir, 'lib/base/ids.ts'), "import './broken.ts'\n")
  await until('the fault of the source', () => said.includes('SyntaxError'))
  writeFileSync(broken, 'export const whole = 1\n')
  await until('a start of what is mended', () => starts() === 3)

  const ended = once(child, 'close')
  child.kill('SIGTERM')
  t.same(await ended, [0, null], 'nobody holds its output any more: all processes are gone')
  t.equal(said.split('"msg":"stopped"').length - 1, 3, 'each daemon stopped as it should')
})
