/**
 * `npm run build`: makes dist/ (or the directory that is named) by build.ts, unless dist/ is of these very sources; then it stays, and is copied to the directory
 * that is named. To bundle takes twenty seconds of a processor, and most who start, test or pack have changed nothing since.
 */

import { createHash } from 'node:crypto'
import { cpSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemClock } from '../lib/base/time.ts'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const outdir = resolve(process.argv[2] ?? dist)
/** In dist/ alone, which is not shipped: what it was made of, and which of its files this build made. */
const record = join(dist, '.made-of')

interface Made {
  readonly sources: string
  readonly parts: readonly string[]
  readonly contents: string
}

/** Of names and bytes: what a checkout does to times says nothing. */
function hashOf(dir: string, files: readonly string[]): string {
  const hash = createHash('sha256')
  for (const name of files) {
    const bytes = readFileSync(join(dir, name))
    hash.update(`${name} ${bytes.length}\n`).update(bytes)
  }
  return hash.digest('hex')
}

/** All that a build reads; of the packages what npm says that it has installed. */
function hashOfSources(): string {
  const files = globSync(['{bin,config,lib}/**/*.*', 'package.json', 'node_modules/.package-lock.json'], {
    cwd: root,
  })
  return `${process.version} ${hashOf(root, files.sort())}`
}

/** What dist/ has of a build, when nobody has changed it since. */
function made(): Made | undefined {
  try {
    const said = JSON.parse(readFileSync(record, 'utf8')) as Made
    return hashOf(dist, said.parts) === said.contents ? said : undefined
  } catch {
    return undefined // never built, or in another way
  }
}

/** How long the parts of former builds stay: a daemon that was started from one may load some of them yet. */
const keptMs = 86_400_000

/** Takes away what former builds left. @param parts the files of this one, by their path in the directory */
function removeFormer(parts: readonly string[]): void {
  const isNew = new Set(parts)
  for (const name of globSync('**/*.js{,.LEGAL.txt}', { cwd: outdir })) {
    const path = join(outdir, name)
    if (!isNew.has(name) && statSync(path).mtimeMs < systemClock.now().getTime() - keptMs) rmSync(path)
  }
}

const sources = hashOfSources()
const there = made()
if (there?.sources === sources) {
  if (outdir !== dist) for (const name of there.parts) cpSync(join(dist, name), join(outdir, name))
  removeFormer(there.parts)
} else {
  // Said before the bundler is loaded: whoever starts a fresh clone would wait for most of a minute without a word.
  process.stderr.write('mailboxd is built from its sources, which takes up to a minute\n')
  const { parts } = await import('./build.ts')
  if (outdir === dist)
    writeFileSync(record, JSON.stringify({ sources, parts, contents: hashOf(dist, parts) } satisfies Made))
  removeFormer(parts)
}
