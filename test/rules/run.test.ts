import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { chooseTestFiles, UnknownTestName } from '../support/choose-files.ts'
import { groupFiles } from '../support/groups.ts'
import { runInLanes } from '../support/lanes.ts'
import { longFiles } from '../support/long-files.ts'
import { runProgram } from '../support/program.ts'
import { serverStories } from '../support/server-stories.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { runTestFile } from '../support/test-file.ts'
import { until } from '../support/until.ts'
import { root } from './source-tree.ts'

const files = [
  'test/api/policy.test.ts',
  'test/cli/config.test.ts',
  'test/config/load.test.ts',
  'test/core/policy/audit.test.ts',
  'test/core/policy/decision.test.ts',
  'test/http/form.test.ts',
  'test/mail/authentication/policy.test.ts',
  'test/store/search/words.test.ts',
  'test/store/write.test.ts',
]

t.test('npm test runs what is named', async t => {
  const chosen = (...names: string[]) => chooseTestFiles(names, files).map(file => file.slice(5, -8))
  t.equal(chosen().length, files.length, 'all without a name')
  t.equal(chosen('test').length, files.length)
  t.same(chosen('core/policy'), ['core/policy/audit', 'core/policy/decision'], 'a room')
  t.same(
    chosen('lib/core/policy/'),
    ['core/policy/audit', 'core/policy/decision'],
    'a room as the shell writes it',
  )
  t.same(chosen('store'), ['store/search/words', 'store/write'], 'a layer with its rooms')
  t.same(chosen('http/form'), ['http/form'], 'a file')
  t.same(chosen('./test/http/form.test.ts', 'lib/http/form.ts'), ['http/form'], 'paths, once')
  t.same(chosen('write'), ['store/write'], 'its last part')
  t.same(
    chosen('policy'),
    ['api/policy', 'core/policy/audit', 'core/policy/decision', 'mail/authentication/policy'],
    'whatever has that part',
  )
  t.same(
    chosen('config', 'search'),
    ['config/load', 'store/search/words'],
    'a layer before what else has that name',
  )
})

t.test('what npm test leaves to CI is there, and CI leaves nothing', async t => {
  const there = new Set(globSync('test/**/*.test.ts', { cwd: root }))
  t.strictSame(
    [...longFiles, ...serverStories].filter(file => !there.has(file)),
    [],
    'no name of a file that is gone',
  )
  t.equal(new Set(longFiles).size, longFiles.length)
  t.match(readFileSync(join(root, '.ci/run'), 'utf8'), /^MAILBOXD_TESTS_ALL=yes npm cit /m)
})

t.test('each file is in one group, of its layer, and a fuzzer in one of its own', async t => {
  const there = globSync('test/**/*.test.ts', { cwd: root })
  const groups = groupFiles(there)
  t.strictSame(groups.flat().sort(), there.sort())
  const layersOf = (group: readonly string[]) => new Set(group.map(file => file.split('/')[1]))
  t.strictSame(
    groups.filter(group => layersOf(group).size !== 1),
    [],
  )
  t.strictSame(
    groups.filter(([first, ...others]) => first!.startsWith('test/fuzz/') && others.length > 0),
    [],
  )
})

t.test('fuzzers run one after another beside the others, and together when no other is left', async t => {
  const under = new Map<string, () => void>()
  const ran = runInLanes(
    ['test/a', 'test/fuzz/1', 'test/fuzz/2', 'test/fuzz/3', 'test/x', 'test/y'].map(name => ({
      files: [`${name}.test.ts`],
    })),
    2,
    ({ files: [file] }) =>
      new Promise(resolve => under.set(file!.slice('test/'.length, -'.test.ts'.length), resolve)),
  )
  const end = async (file: string) => {
    under.get(file)!()
    under.delete(file)
    await setImmediate()
    return [...under.keys()].sort()
  }
  t.strictSame([...under.keys()].sort(), ['a', 'fuzz/1', 'x'])
  t.strictSame(await end('fuzz/1'), ['a', 'fuzz/2', 'x'])
  t.strictSame(await end('a'), ['fuzz/2', 'x', 'y'])
  t.strictSame(await end('x'), ['fuzz/2', 'fuzz/3', 'y'])
  for (const last of ['y', 'fuzz/3']) await end(last)
  t.strictSame(await end('fuzz/2'), [])
  await ran
})

t.test('a name that no test has is told, with those like it', async t => {
  const said = (...names: string[]) => {
    try {
      return `ran ${chooseTestFiles(names, files).length}`
    } catch (error) {
      return error instanceof UnknownTestName ? error.message : 'another fault'
    }
  }
  t.match(said('core/polcy'), /^No test is called "core\/polcy"; like it are .*core\/policy/)
  t.match(said('sear'), /like it are .*store\/search/, 'a part of a word')
  t.match(said('core/policy/rules'), /like it are .*core\/policy/, 'a file without a test')
  t.match(said('zzz'), 'No test is called "zzz"; there are api, cli, config, core, http, mail, store')
  t.match(said('store', 'stoer'), /"stoer"; like it are store/, 'beside one that is known')
  const { code, stderr } = await runProgram(process.execPath, ['test/run.ts', 'core/polcy'], undefined, {
    cwd: root,
  })
  t.equal(code, 1)
  t.match(stderr, 'like it are core/policy')
})

/** What `npm test` needs, with no test in it. */
function copyWithoutTests(t: Test): string {
  const dir = temporaryDir(t)
  for (const folder of ['bin', 'config', 'test/support', 'lib']) {
    cpSync(join(root, folder), join(dir, folder), { recursive: true })
  }
  for (const file of ['package.json', 'test/run.ts']) cpSync(join(root, file), join(dir, file))
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'))
  return dir
}

t.test(
  'CI runs what npm test leaves to it, and fails where a counterpart is missing',
  { timeout: 120_000 },
  async t => {
    const dir = copyWithoutTests(t)
    const write = (file: string, text: string) => {
      mkdirSync(dirname(join(dir, file)), { recursive: true })
      writeFileSync(join(dir, file), `import t from 'tap'\n${text}\n`)
    }
    const run = (all: string) =>
      runProgram(process.execPath, ['test/run.ts'], undefined, {
        cwd: dir,
        // Built, because these tests need no program.
        env: { MAILBOXD_TESTS_ALL: all, MAILBOXD_TESTS_BUILT: 'yes' },
      })
    write(
      'test/small.test.ts',
      "t.pass('one')\nt.test('two', { skip: 'the corpora are not there' }, async () => {})",
    )
    write(longFiles[0]!, "t.pass('three')")
    const plain = await run('')
    t.equal(plain.code, 0, plain.stderr)
    t.match(plain.stdout, /left to CI: npm test -- test\n\n1 passed, 0 failed, 1 skipped\n$/)
    const whole = await run('yes')
    t.equal(whole.code, 0, 'corpora may be missing')
    t.match(whole.stdout, /\n2 passed, 0 failed, 1 skipped\n$/)
    t.notMatch(whole.stdout, 'left to CI')

    write(
      'test/small.test.ts',
      "t.pass('one')\nt.test('two', { skip: 'postfix is not installed' }, async () => {})",
    )
    t.equal((await run('')).code, 0)
    const lacking = await run('yes')
    t.equal(lacking.code, 1)
    t.match(lacking.stdout, /1 were skipped, and MAILBOXD_TESTS_ALL allows none/)

    write('test/small.test.ts', "t.plan(0, 'no machine for it')")
    t.match(await run(''), { code: 1, stdout: /Nothing was tested/ })
  },
)

t.test(
  'in CI what failed runs once more alone, and what chance decides does not',
  { timeout: 120_000 },
  async t => {
    const dir = copyWithoutTests(t)
    // Fails the first time.
    const once = `import { existsSync, writeFileSync } from 'node:fs'
import t from 'tap'
const was = existsSync(import.meta.filename + '.ran')
writeFileSync(import.meta.filename + '.ran', '')
t.ok(was, 'the second time')
`
    const write = (name: string, text: string) => {
      const file = join(dir, `test/${name}.test.ts`)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
      rmSync(`${file}.ran`, { force: true })
    }
    const run = async (all: string) => {
      const env = { MAILBOXD_TESTS_ALL: all, MAILBOXD_TESTS_BUILT: 'yes' }
      return runProgram(process.execPath, ['test/run.ts'], undefined, { cwd: dir, env })
    }
    write('late', once)
    write('well', "import t from 'tap'\nt.pass('one')\n")
    const late = await run('yes')
    t.equal(late.code, 0, late.stdout)
    t.match(late.stdout, /not ok {2}test\/late.*the second time/, 'what failed is told')
    t.match(
      late.stdout,
      /Failed beside others and passed alone.*:\n {2}test\/late\.test\.ts\n\n2 passed, 0 failed\n$/,
    )

    write('late', once)
    t.match(await run(''), { code: 1, stdout: /\n1 passed, 1 failed\n$/ }, 'by hand it has failed')

    write('late', "import t from 'tap'\nt.fail('always')\n")
    t.match(await run('yes'), { code: 1, stdout: /Alone: test\/late[\s\S]*\n1 passed, 1 failed\n$/ })

    // What b leaves behind ends c, which passes alone.
    const turns = "import t from 'tap'\nimport { setImmediate as turn } from 'node:timers/promises'\n"
    write('late', "import t from 'tap'\nt.pass('two')\n")
    write(
      'pair/b',
      `${turns}const later = async () => { for (let n = 0; n < 20; n++) await turn(); throw new Error('too late') }\nlater()\nt.pass('b')\n`,
    )
    write(
      'pair/c',
      `${turns}t.test('c', async t => { for (let n = 0; n < 500; n++) await turn(); t.pass() })\n`,
    )
    const pair = await run('yes')
    t.equal(pair.code, 1, pair.stdout)
    for (const name of ['b', 'c']) rmSync(join(dir, 'test/pair', `${name}.test.ts`))

    write('flow/crash-some', once)
    t.match(await run('yes'), { code: 1, stdout: /\n2 passed, 1 failed\n$/ })

    write('flow/crash-some', "import t from 'tap'\nt.pass('three')\n")
    for (const name of ['a', 'b', 'c', 'd']) write(`many/${name}`, once)
    t.match(await run('yes'), { code: 1, stdout: /\n3 passed, 4 failed\n$/ }, 'many are not the machine')
  },
)

t.test('--watch runs the tests again when a source changes', async t => {
  const dir = copyWithoutTests(t)
  const test = join(dir, 'test/small.test.ts')
  writeFileSync(test, "import t from 'tap'\nt.pass('one')\n")
  const env = { ...process.env, MAILBOXD_TESTS_BUILT: 'yes' }
  const child = spawn(process.execPath, ['test/run.ts', '--watch', 'small'], { cwd: dir, env })
  t.teardown(() => child.kill('SIGKILL'))
  let said = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    said += text
  })
  await until('a first run', () => said.includes('1 passed, 0 failed') && said.includes('Waiting'))
  writeFileSync(test, readFileSync(test, 'utf8').replace("t.pass('one')", "t.pass('one')\nt.fail('two')"))
  await until('a second run', () => /1 passed, 1 failed[\s\S]*Waiting/.test(said))
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  t.same(await ended, [1, null], 'it ends with what the last run said')
})

t.test('what a test file leaves running ends with it, and does not hold the run up', async t => {
  const file = join(temporaryDir(t), 'leaves.test.ts')
  const tap = join(root, 'node_modules/tap/dist/esm/index.js')
  writeFileSync(
    file,
    `import { spawn } from 'node:child_process'
import t from ${JSON.stringify(tap)}
const left = spawn('sleep', ['600'], { stdio: 'inherit' })
left.unref()
t.pass(String(left.pid))
`,
  )
  const { passed, failures } = await runTestFile(file, temporaryDir(t))
  t.strictSame([passed, failures], [1, []])
})

t.test('a file that hangs or tests nothing has failed', async t => {
  const file = join(temporaryDir(t), 'alone.test.ts')
  const tap = join(root, 'node_modules/tap/dist/esm/index.js')
  const runOf = async (text: string, options = {}) => {
    writeFileSync(file, `import t from ${JSON.stringify(tap)}\n${text}\n`)
    return runTestFile(file, temporaryDir(t), options)
  }
  t.match((await runOf('')).failures, [/ {2}tests nothing$/])
  t.match((await runOf('t.pass()\nprocess.reallyExit(0)')).failures, [/ {2}TAP broken off: no plan$/])
  // It hears no signal but the last.
  const stands = 't.pass()\nAtomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000)'
  const { failures, durationMs } = await runOf(stands, { timeoutMs: 1000 })
  t.match(failures, [/ {2}took longer than 1 s/])
  t.ok(durationMs < 60_000, 'and it is ended')
})

t.test('files of a group run in one process, and each has its own report', { timeout: 120_000 }, async t => {
  const dir = copyWithoutTests(t)
  const write = (name: string, text: string) => {
    mkdirSync(join(dir, 'test/some'), { recursive: true })
    writeFileSync(join(dir, `test/some/${name}.test.ts`), `import t from 'tap'\n${text}\n`)
  }
  const run = async () => {
    const env = { MAILBOXD_TESTS_ALL: '', MAILBOXD_TESTS_BUILT: 'yes' }
    return runProgram(process.execPath, ['test/run.ts'], undefined, { cwd: dir, env })
  }
  const mark = `globalThis.ran = (globalThis.ran ?? '') + import.meta.filename.slice(-9, -8)`
  write('a', `${mark}\nt.test('one', async t => { t.pass() })\nt.teardown(() => { globalThis.ran += '-' })`)
  write('b', `${mark}\nt.test('one', async t => { t.equal(globalThis.ran, 'a-b'); t.pass() })\nt.end()`)
  write('c', "t.plan(0, 'no machine for it')")
  t.match(await run(), {
    code: 0,
    stdout:
      /some\/a.test.ts {2}1 passed[\s\S]*some\/b.test.ts {2}2 passed[\s\S]*c.test.ts: no machine for it[\s\S]*\n3 passed, 0 failed, 1 skipped\n$/,
  })

  write('c', "t.test('two', async t => { t.test('deep', async t => { t.equal(1, 2, 'as much') }) })")
  const failing = await run()
  t.match(
    failing.stdout,
    /\nFAIL test\/some\/c[^\n]*\n {2}not ok {2}test\/some\/c.test.ts:2 {2}two > deep > as much\n/,
  )
  t.match(failing.stdout, /\n3 passed, 1 failed\n$/)

  write('c', '')
  t.match((await run()).stdout, /c.test.ts {2}tests nothing[\s\S]*\n3 passed, 1 failed\n$/)

  write('c', "throw new Error('at its begin')")
  t.match((await run()).stdout, /not ok {2}test\/some\/c[^\n]*at its begin[\s\S]*\n3 passed, 1 failed\n$/)

  write('b', "t.test('ends', async t => { t.pass(); process.exit(3) })")
  write('c', "t.test('late', async t => { t.equal(globalThis.ran, undefined) })")
  t.match(
    (await run()).stdout,
    /FAIL test\/some\/b[\s\S]*ok {3}test\/some\/c.test.ts {2}1 passed[\s\S]*\n3 passed, 1 failed\n$/,
  )

  write('b', "t.test('dies', async () => { process.kill(process.pid, 'SIGKILL') })")
  t.match((await run()).stdout, /FAIL test\/some\/b[\s\S]*ended with SIGKILL[\s\S]*\n2 passed, 1 failed\n$/)

  write('a', "t.fail('one')")
  write('b', "t.pass()\nprocess.kill(process.pid, 'SIGKILL')")
  t.match(
    (await run()).stdout,
    /FAIL test\/some\/b[\s\S]*ended with SIGKILL[\s\S]*\n2 passed, 2 failed\n$/,
    'beside another that failed, too',
  )

  write('a', "t.test('later', { todo: true }, async () => {})")
  write('c', 't.pass()')
  write(
    'b',
    "setImmediate(() => { throw new Error('too late') })\nimport { setImmediate as turn } from 'node:timers/promises'\nt.test('two', async () => { await turn() })",
  )
  t.match(
    (await run()).stdout,
    /FAIL test\/some\/b[\s\S]*too late[\s\S]*ok {3}test\/some\/c[\s\S]*a.test.ts {2}later: to do\n/,
  )
})

t.test(
  'what a run makes once is made once, whoever asks meanwhile, and again when its maker has ended',
  async t => {
    const dir = temporaryDir(t)
    const file = join(dir, 'asks.ts')
    const log = join(dir, 'log')
    writeFileSync(log, '')
    writeFileSync(
      file,
      `import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { madeOnce } from ${JSON.stringify(join(root, 'test/support/made-once.ts'))}
import { until } from ${JSON.stringify(join(root, 'test/support/until.ts'))}
const asked = madeOnce('thing', async path => {
  appendFileSync(${JSON.stringify(log)}, 'made\\n')
  await until('leave', () => existsSync(${JSON.stringify(join(dir, 'go'))}))
  writeFileSync(path, 'whole')
})
appendFileSync(${JSON.stringify(log)}, 'asked\\n')
await asked
`,
    )
    const ask = () => {
      const child = spawn(process.execPath, [file], { env: { ...process.env, MAILBOXD_TESTS_RUN: dir } })
      t.teardown(() => child.kill('SIGKILL'))
      return child
    }
    const times = (what: string) => readFileSync(log, 'utf8').split(what).length - 1
    const killed = ask()
    await until('the first to make it', () => times('asked') === 1)
    const ends = [ask(), ask()].map(child => once(child, 'exit'))
    const ended = once(killed, 'exit')
    killed.kill('SIGKILL')
    await ended
    await until('both others to ask, of which one makes it', () => times('asked') === 3 && times('made') > 1)
    writeFileSync(join(dir, 'go'), '')
    t.strictSame(await Promise.all(ends), [
      [0, null],
      [0, null],
    ])
    t.equal(times('made'), 2)
    t.equal(readFileSync(join(dir, 'thing'), 'utf8'), 'whole')
    t.strictSame(
      globSync('thing*', { cwd: dir }).filter(name => !name.startsWith(`thing.${killed.pid}`)),
      ['thing'],
      'nothing is left of the making',
    )
  },
)

t.test('a list matches no pattern that is shorter', async t => {
  const file = join(temporaryDir(t), 'lists.test.ts')
  const tap = join(root, 'node_modules/tap/dist/esm/index.js')
  writeFileSync(
    file,
    `import t from ${JSON.stringify(tap)}
t.match([{ a: 1, b: 2 }, 'abc'], [{ a: Number }, /b/], 'as many')
t.match({ list: [1, 2], more: 3 }, { list: [1, 2] }, 'as many in a field')
t.match([1, 2], [1], 'one more')
t.match({ list: [1] }, { list: [] }, 'none')
t.match([[1, 2]], [[1]], 'one more in a list')
`,
  )
  const { passed, failures } = await runTestFile(file, temporaryDir(t))
  t.equal(passed, 2)
  t.match(failures, [/ {2}one more$/m, / {2}none$/m, / {2}one more in a list$/m])
})
