import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'))

t.test('an installation tells nobody of itself', async t => {
  const { packages } = read('package-lock.json') as {
    packages: Record<string, { dev?: true; hasInstallScript?: true }>
  }
  const shipped = Object.entries(packages).filter(([, { dev }]) => !dev)
  // What runs a script when somebody installs the tarball is looked at here by a person first.
  const withScript = shipped.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)
  t.strictSame(
    withScript.filter(path => path !== 'node_modules/@scarf/scarf'),
    [],
  )
  // Scarf asks each package above it; one that says so is enough.
  t.strictSame(read('package.json').scarfSettings, { enabled: false })
})
