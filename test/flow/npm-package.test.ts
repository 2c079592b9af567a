import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeNpmPackage } from '../../packaging/npm.ts'
import { copyOfProgram } from '../support/debian-package.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

t.test('npm install -g of the packed tarball brings a program that runs', async t => {
  const work = temporaryDir(t)
  const tarball = makeNpmPackage(await copyOfProgram(work), work)
  const prefix = join(work, 'prefix')
  // What "npm ci" of this checkout brought is in npm's cache.
  const flags = ['--prefix', prefix, '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  try {
    // A package of ours has one that tells its maker of each installation.
    const env = { ...process.env, SCARF_ANALYTICS: 'false' }
    execFileSync('npm', ['install', '-g', ...flags, tarball], { stdio: 'pipe', env })
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr) : ''
    if (!/ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ENOTCACHED/.test(said)) throw error
    t.plan(0, 'the libraries can not be had of the registry')
    return
  }
  const program = (name: string) => join(prefix, 'bin', name)
  // From elsewhere, by the links that npm makes, with nothing of the checkout.
  const elsewhere = join(work, 'elsewhere')
  mkdirSync(elsewhere)
  const { stdout } = await runProgram(program('mailboxctl'), ['--version'], '', { cwd: elsewhere })
  t.match(stdout, /^\d+\.\d+\.\d+\+[0-9a-f]{12}\n$/)
  const daemon = spawn(program('mailboxd'), ['--port', '0', '--smtp-port', '0'], { cwd: elsewhere })
  t.teardown(() => daemon.kill('SIGKILL'))
  let printed = ''
  daemon.stdout.on('data', (bytes: Buffer) => {
    printed += bytes
  })
  const [, base] = await until('what it prints', () => /^ {2}API +(\S+)\/v1 /m.exec(printed) ?? undefined)
  t.match(await (await fetch(`${base}/health`)).json(), { status: 'ok' })
  const listed = await runProgram(program('mailboxctl'), ['inbox', 'list'], '', { cwd: elsewhere })
  t.match(listed, { code: 0, stdout: /hello@mailboxd\.localhost/ })
  const ended = once(daemon, 'exit')
  daemon.kill('SIGTERM')
  t.strictSame(await ended, [0, null])
})
