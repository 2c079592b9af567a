import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { packageRoot } from '../../lib/base/package-root.ts'

const source = join(import.meta.dirname, '../../lib/base/package-root.ts')

/** What the same code gives when it stands in `directory`. */
async function rootFrom(directory: string): Promise<string> {
  await mkdir(directory, { recursive: true })
  await copyFile(source, join(directory, 'package-root.ts'))
  const copy: { packageRoot: () => string } = await import(
    pathToFileURL(join(directory, 'package-root.ts')).href
  )
  return copy.packageRoot()
}

t.test('it is the directory of package.json, from lib/ and from dist/lib/', async t => {
  t.equal(packageRoot(), join(import.meta.dirname, '../..'))
  const dir = t.testdir()
  await writeFile(join(dir, 'package.json'), '{"type":"module"}')
  t.equal(await rootFrom(join(dir, 'lib/base')), dir)
  t.equal(await rootFrom(join(dir, 'dist/lib/base')), dir)
})
