import { join } from 'node:path'
import t from 'tap'
import { packageVersion } from '../../lib/base/package-root.ts'
import { runCtl, startLocalDaemon } from '../support/local-daemon.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const fromSources = join(import.meta.dirname, '../../bin/mailboxctl.ts')

t.test('two programs of one version are told apart, and the doctor says which runs', async t => {
  const dir = temporaryDir(t)
  await startLocalDaemon(t, dir, '--port', '0', '--smtp-port', '0')
  const built = (await runCtl(dir, '--version')).stdout.trim()
  t.equal(built.split('+')[0], packageVersion())
  t.match(built, /\+[0-9a-f]{12}$/)
  const status = JSON.parse((await runCtl(dir, '--json', 'status')).stdout)
  t.match(status, { version: built, daemon: { state: 'up', version: built } })
  const codesOf = (stdout: string) => JSON.parse(stdout).findings.map((one: { code: string }) => one.code)
  const same = await runCtl(dir, '--json', 'doctor')
  t.notOk(codesOf(same.stdout).includes('version_differs'), same.stdout)

  const other = (...args: string[]) =>
    runProgram(process.execPath, [fromSources, ...args], '', { cwd: dir, timeoutMs: 120_000 })
  t.equal(
    (await other('--version')).stdout.trim(),
    packageVersion(),
    'what runs from its sources is no build',
  )
  t.ok((await other('status')).stdout.includes(`, version ${built}\n`))
  const differing = JSON.parse((await other('--json', 'doctor')).stdout)
  t.match(
    differing.findings.find((one: { code: string }) => one.code === 'version_differs'),
    {
      level: 'warning',
      message: `version ${built} runs, and ${packageVersion()} is installed: start it anew`,
      paste: 'systemctl restart mailboxd',
    },
  )
})
