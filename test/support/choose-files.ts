import { editDistance } from '../../lib/base/text.ts'

/** How many names are told where one is not known. */
const suggestions = 6

/** `names` of `npm test` that no test file has, each with those that are like it. */
export class UnknownTestName extends Error {}

/**
 * The test files that `names` mean, each once, in the order of `files`; without names all of them. A name is a file
 * (`test/http/form.test.ts`; `test` is all), or the path of a file or folder below test/ without its end (`http/form`, `store`,
 * `core/policy`), or the last parts of one (`policy`, where nothing stands at test/policy).
 * @param files paths from the root of the package, with `/`
 * @throws UnknownTestName when a name means none
 */
export function chooseTestFiles(names: readonly string[], files: readonly string[]): string[] {
  if (names.length === 0 || names.some(name => nameOf(`${name}/`) === '')) return [...files]
  const tests = files.map(file => ({ file, name: nameOf(file) }))
  const chosen = new Set<string>()
  const unknown: string[] = []
  for (const given of names) {
    const name = nameOf(given)
    const atTop = tests.filter(test => isWithin(test.name, name))
    const found = atTop.length > 0 ? atTop : tests.filter(test => `/${test.name}/`.includes(`/${name}/`))
    for (const { file } of found) chosen.add(file)
    if (found.length === 0) unknown.push(saying(given, name, tests))
  }
  if (unknown.length > 0) throw new UnknownTestName(unknown.join('\n'))
  return files.filter(file => chosen.has(file))
}

/** `core/policy/decision` of `./test/core/policy/decision.test.ts`, and of `lib/core/policy/decision.ts`, which it mirrors. */
function nameOf(path: string): string {
  return path
    .replace(/^\.\//, '')
    .replace(/^(test|lib)\//, '')
    .replace(/(\.test)?\.ts$/, '')
    .replace(/\/+$/, '')
}

const isWithin = (path: string, name: string) => path === name || path.startsWith(`${name}/`)

function saying(given: string, name: string, tests: readonly { name: string }[]): string {
  const known = [...new Set(tests.flatMap(test => [...foldersOf(test.name), test.name]))]
  const like = known
    .map(word => ({ word, distance: distanceOf(name, word) }))
    .filter(({ distance }) => distance <= Math.max(1, Math.floor(name.length / 3)))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, suggestions)
    .map(({ word }) => word)
  const layers = [...new Set(known.map(word => word.split('/')[0]!))]
  const there = like.length > 0 ? `like it are ${like.join(', ')}` : `there are ${layers.join(', ')}`
  return `No test is called "${given}"; ${there}`
}

/** `core` and `core/policy` of `core/policy/decision`. */
function foldersOf(path: string): string[] {
  const parts = path.split('/')
  return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join('/'))
}

/** How far `typed` is from `word`, or from its last parts, as many as were typed. A folder that was typed is near. */
function distanceOf(typed: string, word: string): number {
  const end = word.split('/').slice(-typed.split('/').length).join('/')
  if (typed.length > 2 && end.includes(typed)) return 0
  if (typed.startsWith(`${word}/`)) return 2
  return Math.min(editDistance(typed, word), editDistance(typed, end))
}
