import { runProgram } from '../support/program.ts'
import { nodesOf } from '../support/syntax.ts'
import { readSources, root } from './source-tree.ts'

/** A regular expression, and where it stands in lib: `lib/….ts:line`. */
export interface Pattern {
  readonly source: string
  readonly flags: string
  readonly place: string
}

/** As `String(RegExp)` has it. */
export const nameOfPattern = ({ source, flags }: Pick<Pattern, 'source' | 'flags'>) => `/${source}/${flags}`

/** All regular expressions that stand in lib as literals, and the places of those that are built (`new RegExp(…)`). */
export function writtenPatterns(): { literals: Pattern[]; built: string[] } {
  const literals: Pattern[] = []
  const built: string[] = []
  for (const { path, text } of readSources().filter(source => source.path.startsWith('lib/'))) {
    for (const node of nodesOf(text)) {
      const place = `${path}:${node.loc?.start.line}`
      if (node.type === 'Literal' && node.regex)
        literals.push({ source: node.regex.pattern, flags: node.regex.flags, place })
      const isCall = node.type === 'NewExpression' || node.type === 'CallExpression'
      if (isCall && node.callee.type === 'Identifier' && node.callee.name === 'RegExp') built.push(place)
    }
  }
  return { literals, built }
}

/** The regular expressions that the modules at these places build, as they are: built-patterns.ts asks them. */
export async function builtPatterns(places: readonly string[]): Promise<Pattern[]> {
  const files = [...new Set(places.map(place => place.split(':')[0]!))]
  return JSON.parse(await runChild('built-patterns.ts', JSON.stringify(files)))
}

/** What recheck says of a pattern: the fault in words, undefined where its time is linear. */
export type Verdict = string | undefined

/** So many patterns are asked of one process, so that its time does not grow with those of lib. */
const askedAtOnce = 20

/** Asks recheck in two processes at a time, for it does one pattern at a time. By `String(RegExp)`. */
export async function judge(
  patterns: readonly { source: string; flags: string }[],
): Promise<Map<string, Verdict>> {
  const verdicts = new Map<string, Verdict>()
  const left = [...patterns]
  const askInTurn = async () => {
    for (;;) {
      const some = left.splice(0, askedAtOnce)
      if (some.length === 0) return
      const answers = JSON.parse(await runChild('judge-patterns.ts', JSON.stringify(some)))
      for (const { pattern, fault } of answers) verdicts.set(pattern, fault)
    }
  }
  await Promise.all([askInTurn(), askInTurn()])
  return verdicts
}

async function runChild(file: string, input: string): Promise<string> {
  const { code, stdout, stderr } = await runProgram(process.execPath, [`test/rules/${file}`], input, {
    cwd: root,
    timeoutMs: 100_000,
  })
  if (code !== 0) throw new Error(`${file} ended with ${code}: ${stderr.slice(0, 2000)}`)
  return stdout
}
