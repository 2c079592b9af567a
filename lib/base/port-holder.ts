import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { oneLine } from './text.ts'

/** The state of a socket that listens, in /proc/net/tcp. */
const listens = '0A'

/** `postfix (process 812)`, for the process that listens on a port here; empty where that can't be seen (not Linux, not root). */
export function tellPortHolder(port: number): string {
  try {
    const inodes = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap(file => listenersOf(file, port)))
    for (const id of readdirSync('/proc')) {
      if (/^\d+$/.test(id) && holdsOne(id, inodes)) {
        return `${nameOf(id)} (process ${id})`
      }
    }
  } catch {
    // There is no /proc, or it ended meanwhile.
  }
  return ''
}

/** Options of Node whose value is a module that comes before the program. */
const preloading = ['--import', '--require', '-r', '--loader', '--experimental-loader']

/** What the process runs: of Node the program that was given to it. */
function nameOf(id: string): string {
  const name = readFileSync(`/proc/${id}/comm`, 'utf8').trim()
  const [, ...args] = readFileSync(`/proc/${id}/cmdline`, 'utf8').split('\0')
  const script = args.find(
    (arg, at) => /^[^-].*\.[cm]?[jt]s$/.test(arg) && !preloading.includes(args[at - 1] ?? ''),
  )
  return name.startsWith('node') && script !== undefined ? oneLine(basename(script)) : name
}

function listenersOf(file: string, port: number): string[] {
  const rows = readFileSync(file, 'latin1').trim().split('\n').slice(1)
  return rows
    .map(row => row.trim().split(/\s+/))
    .filter(cells => cells[3] === listens && Number.parseInt(cells[1]?.split(':')[1] ?? '', 16) === port)
    .map(cells => cells[9]!)
}

function holdsOne(id: string, inodes: ReadonlySet<string>): boolean {
  try {
    const links = readdirSync(`/proc/${id}/fd`).map(name => linkOf(`/proc/${id}/fd/${name}`))
    return links.some(link => inodes.has(/^socket:\[(\d+)\]$/.exec(link)?.[1] ?? ''))
  } catch {
    // Another user's.
    return false
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
