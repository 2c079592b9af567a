import { spawn } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { Parser, type Result } from 'tap-parser'

export interface TestFileReport {
  readonly file: string
  readonly passed: number
  readonly failures: readonly string[]
  readonly skips: readonly string[]
  readonly durationMs: number
}

/** After this a file is asked to say what it hangs on (SIGALRM: tap answers with the open handles), then killed. */
const mostMs = 480_000
const lastWordsMs = 3_000
const keptStderr = 8_000
/** Loaded before each. As URLs: a path with a `%` or a `#` in it would be read as one. */
const before = ['packed-packages.ts', 'whole-lists.ts'].map(name => new URL(name, import.meta.url).href)
const group = join(import.meta.dirname, 'group.ts')

export interface TestFileOptions {
  readonly signal?: AbortSignal
  /** Eight minutes unless told. */
  readonly timeoutMs?: number
  /** More of its environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Whether the first failure is enough. */
  readonly endsAtFailure?: boolean
}

/**
 * Runs one test file in a process of its own and reads its TAP. A file that dies, hangs or asserts nothing is a
 * failure, whatever it printed before.
 * @param runDir a directory for what the files of a run share: what Node compiled, packages (packed-packages.ts), and what is made once (made-once.ts)
 */
export async function runTestFile(
  file: string,
  runDir: string,
  options: TestFileOptions = {},
): Promise<TestFileReport> {
  return (await runProcess([file], runDir, options))[0]!
}

/**
 * Runs test files one after another in one process (group.ts), which loads once what they share. Where one of them ends the process or hangs, it has
 * failed, and those that had not begun run in another. Gives a report of each.
 */
export async function runTestFiles(
  files: readonly string[],
  runDir: string,
  options: TestFileOptions = {},
): Promise<TestFileReport[]> {
  const reports: TestFileReport[] = []
  while (reports.length < files.length && !options.signal?.aborted) {
    reports.push(...(await runProcess(files.slice(reports.length), runDir, options)))
  }
  return reports
}

/** What one file has said so far. */
interface Said {
  readonly failures: string[]
  readonly skips: string[]
  passed: number
  durationMs: number
  hasEnded: boolean
}

/** Gives the reports of the files that began, and one at the least. */
function runProcess(
  files: readonly string[],
  runDir: string,
  { signal, timeoutMs = mostMs, env, endsAtFailure = false }: TestFileOptions,
): Promise<TestFileReport[]> {
  const startedAt = performance.now()
  const first = files[0]!
  const isGroup = files.length > 1
  const program = isGroup ? [group, ...files] : [first]
  const child = spawn(process.execPath, [...before.flatMap(url => ['--import', url]), ...program], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that what it leaves running ends with it: a daemon would hold the pipes, and the run would never end.
    detached: true,
    env: {
      ...process.env,
      TAP_TIMEOUT: String(mostMs / 1000 - 10),
      NODE_COMPILE_CACHE: join(runDir, 'compiled'),
      ...env,
      MAILBOXD_TESTS_RUN: runDir,
    },
  })
  // A fuzzer tries for a time, however much it tries: the others have the processors first.
  if (first.startsWith('test/fuzz/') && child.pid)
    setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
  const said = files.map((): Said => ({ failures: [], skips: [], passed: 0, durationMs: 0, hasEnded: false }))
  let stderr = ''
  let timedOut = false

  let begun = isGroup ? 0 : 1
  const parser = new Parser()
  /** The files of a group are its subtests. */
  const ofFile = ({ fullname }: Result) => {
    const i = isGroup ? files.findIndex(file => fullname === file || fullname.startsWith(`${file} > `)) : 0
    if (i < 0) {
      // Thrown when nobody waited for it, most likely by what runs now.
      const at = Math.max(0, Math.min(begun, files.length) - 1)
      return { file: files[at]!, name: fullname, of: said[at]! }
    }
    const file = files[i]!
    return { file, name: isGroup ? fullname.slice(file.length + ' > '.length) : fullname, of: said[i]! }
  }
  if (isGroup) parser.on('child', () => begun++)
  parser.on('pass', result => {
    const { name, of } = ofFile(result)
    // A file in which nothing is asserted passes for tap.
    if (name) of.passed++
  })
  parser.on('fail', result => {
    const { file, name, of } = ofFile(result)
    // What ended the file is told before.
    if (name || of.failures.length === 0) of.failures.push(describeFailure(file, name, result))
    if (endsAtFailure) killAll()
  })
  parser.on('skip', result => {
    const { file, name, of } = ofFile(result)
    // A file of a group that asserts nothing has failed, which is told at its end; an empty test within one is a skip.
    if (name || result.skip !== 'no tests found') of.skips.push(skipOf(file, name, reasonOf(result.skip)))
  })
  parser.on('todo', result => {
    const { file, name, of } = ofFile(result)
    of.skips.push(skipOf(file, name, 'to do'))
  })
  let endedAt = startedAt
  parser.on('assert', result => {
    const now = performance.now()
    if (isGroup) Object.assign(ofFile(result).of, { hasEnded: true, durationMs: now - endedAt })
    endedAt = now
  })
  child.stdout.setEncoding('utf8').on('data', text => parser.write(text))
  child.stderr.setEncoding('utf8').on('data', text => {
    stderr = (stderr + text).slice(-keptStderr)
  })

  const killAll = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // All of it has ended.
    }
  }
  let killing: NodeJS.Timeout | undefined
  const timing = setTimeout(() => {
    timedOut = true
    child.kill('SIGALRM')
    killing = setTimeout(killAll, lastWordsMs)
  }, timeoutMs)
  signal?.addEventListener('abort', killAll)
  child.on('exit', killAll)

  return new Promise(resolve => {
    child.on('close', (code, killedBy) => {
      clearTimeout(timing)
      clearTimeout(killing)
      signal?.removeEventListener('abort', killAll)
      parser.end()
      // The one after a file that ended well may have ended the process before it could say that it had begun.
      const latest = said[begun - 1]
      const ofBegun = said.slice(
        0,
        latest && !(latest.hasEnded && latest.failures.length === 0) ? begun : begun + 1,
      )
      const results = parser.results
      // A plan of 0 with a reason is a file that skips itself; without one it forgot to test.
      const skipAll = !isGroup && results?.plan.skipAll && results.plan.comment !== 'no tests found'
      if (skipAll) said[0]!.skips.push(`${first}: ${results.plan.comment || 'no reason given'}`)
      const how = timedOut
        ? `took longer than ${timeoutMs / 1000} s`
        : code === 0
          ? undefined
          : `ended with ${killedBy ?? code}`
      // Another file that failed is why the process ended with 1.
      const told = ofBegun.some(({ failures }) => failures.length > 0)
      resolve(
        ofBegun.map(({ passed, failures, skips, durationMs, hasEnded }, i) => {
          const file = files[i]!
          if (failures.length === 0) {
            // Those before the last have ended, whatever became of the process.
            const isLast = i === ofBegun.length - 1
            if (how && isLast && !(told && hasEnded)) failures.push(`${file}  ${how}${bailedOut(parser)}`)
            else if (isLast && !told && !results?.ok)
              failures.push(`${file}  TAP broken off: ${brokenOff(parser)}`)
            else if (passed + skips.length === 0) failures.push(`${file}  tests nothing`)
          }
          if (failures.length > 0 && stderr.trim())
            failures.push(`${file}  wrote:\n${indent(stderr.trimEnd())}`)
          return {
            file,
            passed,
            failures,
            skips,
            durationMs: isGroup ? durationMs : performance.now() - startedAt,
          }
        }),
      )
    })
  })
}

const skipOf = (file: string, name: string, reason: string) => `${file}${name ? `  ${name}` : ''}: ${reason}`

function reasonOf(skip: string | boolean): string {
  return typeof skip === 'string' && skip ? skip : 'no reason given'
}

function bailedOut(parser: Parser): string {
  const reason = parser.results?.bailout
  return typeof reason === 'string' ? `, bailed out: ${reason}` : ''
}

function brokenOff(parser: Parser): string {
  const first = parser.results?.failures[0]
  return first && 'tapError' in first && first.tapError ? first.tapError : 'no plan'
}

/** `file:line  test > assertion`, then what was expected and what came, or where it was thrown. */
function describeFailure(file: string, name: string, result: Result): string {
  const diag: Record<string, unknown> = result.diag ?? {}
  const { at, diff, stack, source: _source, compare: _compare, tapCaught: _caught, ...rest } = diag
  const line = isRecord(at) && at.lineNumber ? `:${at.lineNumber}` : ''
  const parts = [`${file}${line}  ${name}`]
  if (typeof diff === 'string') parts.push(indent(diff.trimEnd()))
  for (const [key, value] of Object.entries(rest)) {
    parts.push(indent(`${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`))
  }
  if (typeof stack === 'string') parts.push(indent(stack.trimEnd().split('\n').slice(0, 6).join('\n')))
  return parts.join('\n')
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function indent(text: string): string {
  return text.replace(/^/gm, '      ')
}
