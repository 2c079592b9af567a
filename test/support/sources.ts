import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'

/** The sources of a checkout, and who imports whom; what a thread begins with is imported by who starts it. */
export class Sources {
  readonly #imports = new Map<string, readonly string[]>()
  readonly #importers = new Map<string, string[]>()
  readonly #sizes = new Map<string, number>()

  constructor(root: string) {
    for (const file of globSync('{lib,test}/**/*.ts', { cwd: root }).sort()) {
      const text = readFileSync(join(root, file), 'utf8')
      const files = [...text.matchAll(/(?:from|import\() ?'(\.[^']+\.ts)'/g)].map(([, from]) =>
        relative(root, resolve(root, dirname(file), from!)),
      )
      const threads = [...text.matchAll(/threadEntry\('([^']+)'\)/g)].map(([, name]) => `lib/${name}.ts`)
      this.#imports.set(file, [...files, ...threads])
      for (const imported of [...files, ...threads])
        this.#importers.set(imported, [...(this.#importers.get(imported) ?? []), file])
    }
  }

  /**
   * Of these tests those that import it, also by others, the nearest first: its own, then by ever longer chains of
   * imports, where a word of its path in the name of the test counts for two steps; those of its folder before others, and who imports less before who
   * imports more.
   */
  nearest(tests: readonly string[], file: string): string[] {
    const own = file.replace(/^lib\//, 'test/').replace(/\.ts$/, '')
    const words = new Set(wordsOf(own))
    const distances = reach(file, this.#importers)
    const ranked = tests.flatMap(test => {
      const distance = distances.get(test)
      if (distance === undefined) return []
      const isOwn = test === `${own}.test.ts` || test.startsWith(`${own}/`)
      const named = wordsOf(basename(test)).filter(word => words.has(word)).length
      const near = isOwn ? -100 : distance - 2 * named - (dirname(test) === dirname(own) ? 0.5 : 0)
      return [{ test, near, size: this.#sizeOf(test) }]
    })
    return ranked.sort((a, b) => a.near - b.near || a.size - b.size).map(({ test }) => test)
  }

  /** How many it imports. */
  #sizeOf(file: string): number {
    const size = this.#sizes.get(file) ?? reach(file, this.#imports).size
    this.#sizes.set(file, size)
    return size
  }
}

const wordsOf = (path: string) => path.replace(/(\.test)?\.ts$/, '').split(/[/-]/)

/** All that can be reached from there, and in how many steps. */
function reach(from: string, next: ReadonlyMap<string, readonly string[]>): Map<string, number> {
  const steps = new Map([[from, 0]])
  for (const [one, count] of steps)
    for (const other of next.get(one) ?? []) if (!steps.has(other)) steps.set(other, count + 1)
  return steps
}
