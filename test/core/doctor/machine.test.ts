import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { programVersion } from '../../../lib/base/package-root.ts'
import { parseConfig } from '../../../lib/config/load.ts'
import { checkMachine, filesBeside } from '../../../lib/core/doctor/machine.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

const daemon = {
  version: programVersion(),
  pid: 4711,
  startedAt: '2026-01-01T00:00:00.000Z',
  stoppedAt: null,
  smtp: [],
  http: [],
}

interface System {
  readonly memory: number
  readonly available: number
  readonly most: string
  readonly kills: number
  readonly files: string
}
const mebibyte = 2 ** 20
const sound: System = { memory: 4096, available: 2048, most: 'max', kills: 0, files: '65536' }

/** The parts of /proc and /sys that are read, as Linux writes them. */
function systemWith(t: Test, change: Partial<System>): string {
  const { memory, available, most, kills, files } = { ...sound, ...change }
  const root = temporaryDir(t)
  const write = (path: string, text: string) => {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const group = 'sys/fs/cgroup/system.slice/mailboxd.service'
  const kibibytes = (count: number) => `${(count * mebibyte) / 1024} kB`
  write(
    'proc/meminfo',
    `MemTotal:       ${kibibytes(memory)}\nMemFree: 1 kB\nMemAvailable:   ${kibibytes(available)}\n`,
  )
  write('proc/4711/cgroup', '0::/system.slice/mailboxd.service\n')
  write(`${group}/memory.max`, `${most}\n`)
  write(`${group}/memory.events`, `low 0\nhigh 3\nmax 0\noom 0\noom_kill ${kills}\n`)
  write(
    'proc/4711/limits',
    `Limit                     Soft Limit           Hard Limit           Units     \nMax open files            ${files}               524288               files     \n`,
  )
  return root
}

t.test('each want of the machine is told, and a sound one has none', async t => {
  const config = parseConfig(
    `hostname = "mail.ours.example"\naccount_domain = "ours.example"\ndata_dir = "${temporaryDir(t)}"`,
    'test',
  )
  const found = async (change: Partial<System>, asked: typeof daemon | undefined = daemon) =>
    (await checkMachine({ config, daemon: asked, root: systemWith(t, change) })).map(
      one => `${one.level} ${one.code}`,
    )
  t.strictSame(await found({}), [])
  t.strictSame(await found({ files: 'unlimited', most: String(2048 * mebibyte) }), [])
  t.strictSame(await found({ memory: 256 }), ['warning memory_small'])
  t.strictSame(await found({ most: String(256 * mebibyte) }), ['warning memory_small'], 'by MemoryMax=')
  t.strictSame(await found({ available: 20 }), ['warning memory_short'])
  t.strictSame(await found({ kills: 2 }), ['warning memory_killed'])
  t.strictSame(await found({ files: '1024' }), ['warning files_few'])
  const { smtp, http, delivery, webhook } = config
  const needed =
    smtp.max_connections + http.max_connections + delivery.concurrency + webhook.concurrency + filesBeside
  t.strictSame(await found({ files: String(needed) }), [])
  t.strictSame(await found({ files: String(needed - 1) }), ['warning files_few'])
  t.strictSame(await found({}, { ...daemon, version: '0.0.1' }), ['warning version_differs'])
  const nowhere = await checkMachine({ config, daemon, root: temporaryDir(t) })
  t.strictSame(
    nowhere.map(({ level, code, subject }) => `${level} ${code} ${subject}`),
    ['hint not_checked memory', 'hint not_checked files'],
  )
})
