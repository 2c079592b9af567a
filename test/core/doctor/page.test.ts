import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../lib/base/package-root.ts'
import { readSources } from '../../rules/source-tree.ts'

t.test('each code that a finding may have stands on the page of the doctor', async t => {
  const page = readFileSync(join(packageRoot(), 'docs/doctor.md'), 'utf8')
  const rooms =
    /^lib\/(?:mail\/domain|core\/doctor|core\/domains)\/|^lib\/cli\/(?:server-findings|not-running)/
  const codes = readSources()
    .filter(({ path }) => rooms.test(path))
    .flatMap(({ text }) => [
      ...text.matchAll(/(?:finding\(\s*(?:'\w+'|level|isN\w+[^,]*),|said\(|warning\()\s*'([a-z0-9_]+)'/g),
    ])
    .map(([, code]) => code!)
  t.ok(codes.length > 50, `${codes.length}`)
  for (const code of new Set(codes)) t.ok(page.includes(`\`${code}\``), code)
})
