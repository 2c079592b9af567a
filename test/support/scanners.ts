import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { startContained } from './contained.ts'
import { getPeer } from './peers.ts'
import { freePort } from './ports.ts'
import { temporaryDir } from './temporary-dir.ts'
import { until } from './until.ts'

/** What the signature of the test's ClamAV finds. */
export const virusText = 'MAILBOXD-TEST-VIRUS'
/** What rspamd has built in for tests: it advises to reject, or to add a header. */
export const rejectedText = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X'
export const headerText = 'YJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X'

const startMs = 60_000

/** A real clamd with one signature of our own, so that none is fetched; it takes streams of up to 1 MB. */
export async function startClamav(t: Test): Promise<{ readonly path: string; stop(): Promise<void> }> {
  const dir = temporaryDir(t)
  const path = join(dir, 'clamd.sock')
  mkdirSync(join(dir, 'db'))
  const hex = Buffer.from(virusText).toString('hex')
  writeFileSync(join(dir, 'db', 'test.ndb'), `Test.Virus-1:0:*:${hex}\n`)
  writeFileSync(
    join(dir, 'clamd.conf'),
    `LocalSocket ${path}\nDatabaseDirectory ${join(dir, 'db')}\nForeground yes\nStreamMaxLength 1M\n`,
  )
  const clamd = startContained(getPeer('clamd'), ['-c', join(dir, 'clamd.conf')], { log: join(dir, 'log') })
  t.teardown(() => clamd.stop())
  await until('clamd to answer', () => isListening({ path }), startMs)
  return { path, stop: () => clamd.stop() }
}

/** A real rspamd without modules, which knows its test patterns alone. */
export async function startRspamd(t: Test): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const dir = temporaryDir(t)
  const port = await freePort('127.0.0.1')
  // The whole list of suffixes takes it many seconds to load.
  writeFileSync(join(dir, 'suffixes'), 'com\nexample\n')
  writeFileSync(
    join(dir, 'rspamd.conf'),
    `options {
  pidfile = "${dir}/pid"; tempdir = "${dir}"; filters = ""; enable_test_patterns = true; disable_hyperscan = true;
  dns { nameserver = ["127.0.0.1:9:1"]; timeout = 1s; retransmits = 1; }
  control_socket = "${dir}/control mode=0600"; cache_file = "${dir}/cache"; hs_cache_dir = "${dir}/";
  history_file = "${dir}/history"; url_tld = "${dir}/suffixes";
}
logging { type = "console"; level = "notice"; }
metric { name = "default"; actions { reject = 15; add_header = 6; greylist = 4; } }
worker "normal" { bind_socket = "127.0.0.1:${port}"; count = 1; }
`,
  )
  const args = ['-f', '-c', join(dir, 'rspamd.conf'), '--insecure']
  const rspamd = startContained(getPeer('rspamd'), args, { log: join(dir, 'log') })
  t.teardown(() => rspamd.stop())
  await until('rspamd to answer', () => isListening({ host: '127.0.0.1', port }), startMs)
  return { url: `http://127.0.0.1:${port}`, stop: () => rspamd.stop() }
}

function isListening(at: { path: string } | { host: string; port: number }): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(at)
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
