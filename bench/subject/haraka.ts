import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startContained } from '../../test/support/contained.ts'
import type { MailServerOptions } from '../../test/support/mail-server.ts'
import { freePort, greeting } from '../../test/support/ports.ts'
import { runProgram } from '../../test/support/program.ts'
import { startSmtpSink } from '../../test/support/smtp-sink.ts'
import type { PeerServer } from './peer.ts'

const version = '3.3.4'

/**
 * Haraka of npm with one process, as it comes, and its queue on the disk: it has no mailboxes, so it passes on to smtp-sink what
 * it has taken into its queue. It is installed into a temporary directory once, because mailboxd has no use for it.
 */
export async function startHaraka({ dir, hostname, address, port }: MailServerOptions): Promise<PeerServer> {
  const haraka = await installed()
  const sink = await startSmtpSink('127.0.0.2', await freePort('127.0.0.2'))
  const config = join(dir, 'config')
  cpSync(join(haraka, 'config'), config, { recursive: true })
  for (const name of ['plugins', 'queue']) mkdirSync(join(dir, name))
  const files: Record<string, string> = {
    me: `${hostname}\n`,
    plugins: 'bench\n',
    'smtp.ini': `listen=${address}:${port}\n`,
    loglevel: 'WARN\n',
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(config, name), text)
  writeFileSync(
    join(dir, 'plugins', 'bench.js'),
    `exports.hook_rcpt = (next, connection) => { connection.relaying = true; next(OK) }
exports.hook_get_mx = next => next(OK, { exchange: '${sink.address}', port: ${sink.port} })
`,
  )
  const contained = startContained(process.execPath, [join(haraka, 'bin/haraka'), '-c', dir], {
    log: join(dir, 'log'),
  })
  const stop = async () => {
    await contained.stop()
    await sink.stop()
  }
  try {
    await greeting(address, port)
  } catch (error) {
    await stop()
    throw new Error(`Haraka did not start:\n${readFileSync(join(dir, 'log'), 'utf8')}`, { cause: error })
  }
  return { port, pid: contained.pid, count: sink.count, stop }
}

async function installed(): Promise<string> {
  const dir = join(tmpdir(), `mailboxd-bench-haraka-${version}`)
  const complete = join(dir, 'complete')
  if (!existsSync(complete)) {
    mkdirSync(dir, { recursive: true })
    const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', dir]
    const run = await runProgram('npm', [...args, `Haraka@${version}`], undefined, { timeoutMs: 600_000 })
    if (run.code !== 0) throw new Error(`npm ${args.join(' ')} ended with ${run.code}: ${run.stderr}`)
    writeFileSync(complete, '')
  }
  return join(dir, 'node_modules/Haraka')
}
