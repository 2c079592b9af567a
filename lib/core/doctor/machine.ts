import { readFile, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { programVersion } from '../../base/package-root.ts'
import type { Config } from '../../config/load.ts'
import { type Finding, finding, notChecked } from '../../mail/domain/finding.ts'
import type { Running } from '../running.ts'

/** Memory of the machine, and memory that is available, below which the doctor warns. */
const memoryEnough = 512 * 1024 * 1024
const memoryFree = 64 * 1024 * 1024
/** Open files that the daemon needs beside its connections. */
export const filesBeside = 200
/** The part of a disk that is left when it counts as nearly full. */
export const diskNearlyFull = 0.05

interface Asked {
  readonly config: Config
  /** The daemon, where one runs. */
  readonly daemon: Running | undefined
  /** Where /proc and /sys are. */
  readonly root?: string
}

/** What the machine gives to the daemon, and whether that is enough: memory, files, room, and the program that is installed. */
export async function checkMachine({ config, daemon, root = '/' }: Asked): Promise<Finding[]> {
  const running = daemon
    ? await Promise.all([checkFiles(config, daemon, root), checkKills(daemon, root)])
    : []
  return [
    ...versionOf(daemon),
    ...(await checkMemory(daemon, root)),
    ...running.flat(),
    ...(await checkInodes(config.data_dir)),
  ]
}

function versionOf(daemon: Running | undefined): Finding[] {
  if (!daemon || daemon.version === programVersion()) return []
  const message = `version ${daemon.version} runs, and ${programVersion()} is installed: start it anew`
  return [finding('warning', 'version_differs', 'mailboxd', message, 'systemctl restart mailboxd')]
}

async function checkMemory(daemon: Running | undefined, root: string): Promise<Finding[]> {
  const text = (await read(join(root, 'proc/meminfo'))) ?? ''
  const amounts = new Map(
    [...text.matchAll(/^(\w+): +(\d+) kB$/gm)].map(([, name, amount]) => [name, amount]),
  )
  const all = Number(amounts.get('MemTotal')) * 1024
  const free = Number(amounts.get('MemAvailable')) * 1024
  if (!(all > 0) || Number.isNaN(free))
    return [notChecked('memory', 'the system does not say how much memory there is', 'hint')]
  const group = await findGroup(daemon, root)
  const most = Number(((await read(join(group ?? '', 'memory.max'))) ?? '').trim())
  const given = group && most > 0 ? Math.min(all, most) : all
  const inMebibytes = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`
  if (given < memoryEnough) {
    const message = `mailboxd may have ${inMebibytes(given)}; it needs ${inMebibytes(memoryEnough)} when many large messages come at once, and is killed when it has not: give it more (MemoryMax= of the unit, or the machine)`
    return [finding('warning', 'memory_small', 'memory', message)]
  }
  if (free >= memoryFree) return []
  return [
    finding(
      'warning',
      'memory_short',
      'memory',
      `${inMebibytes(free)} are available on this machine: another program may have taken the rest`,
    ),
  ]
}

/** How often something of the daemon's was killed for want of memory. */
async function checkKills(daemon: Running, root: string): Promise<Finding[]> {
  const group = await findGroup(daemon, root)
  const text = group && (await read(join(group, 'memory.events')))
  const kills = Number(/^oom_kill (\d+)$/m.exec(text ?? '')?.[1] ?? 0)
  if (kills === 0) return []
  const message = `the system killed it ${kills} times for want of memory since it was started: give it more (MemoryMax= of the unit, or the machine)`
  return [finding('warning', 'memory_killed', 'memory', message)]
}

/** The control group of the daemon, where its bounds stand. */
async function findGroup(daemon: Running | undefined, root: string): Promise<string | undefined> {
  const text = daemon && (await read(join(root, 'proc', String(daemon.pid), 'cgroup')))
  const path = /^0::(\/\S+)$/m.exec(text ?? '')?.[1]
  return path === undefined ? undefined : join(root, 'sys/fs/cgroup', path)
}

async function checkFiles(
  { smtp, http, delivery, webhook }: Config,
  daemon: Running,
  root: string,
): Promise<Finding[]> {
  const text = await read(join(root, 'proc', String(daemon.pid), 'limits'))
  const limit = /^Max open files\s+(\d+|unlimited)/m.exec(text ?? '')?.[1]
  if (limit === undefined)
    return [notChecked('files', 'the system does not say how many files mailboxd may have open', 'hint')]
  const needed =
    smtp.max_connections + http.max_connections + delivery.concurrency + webhook.concurrency + filesBeside
  if (limit === 'unlimited' || Number(limit) >= needed) return []
  const message = `mailboxd may have ${limit} files open, and its settings allow ${needed} (connections of smtp and http, delivery.concurrency, webhook.concurrency): above it connections fail`
  return [
    finding('warning', 'files_few', 'files', message, `[Service]\nLimitNOFILE=${Math.max(65_536, needed)}`),
  ]
}

async function checkInodes(dataDir: string): Promise<Finding[]> {
  const { files, ffree } = await statfs(dataDir)
  if (files === 0 || ffree >= files * diskNearlyFull) return []
  const message = `the file system has room for ${ffree} more files; each large message is one`
  return [finding('warning', 'files_nearly_out', dataDir, message)]
}

async function read(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch {
    return undefined
  }
}
