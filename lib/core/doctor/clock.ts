import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { dnsTimeoutMs } from '../../base/network.ts'
import { nameServerMs } from '../../courier/authoritative-dns.ts'
import { type Finding, finding, notChecked } from '../../mail/domain/finding.ts'
import { findNewestEventAt } from '../../store/events.ts'
import type { App } from '../app/app.ts'
import { readRunning } from '../running.ts'

/** How far the clock may be from the time of the servers that the doctor asks. */
const clockSkewMs = 60_000

/** Gives the Date of an HTTP answer, or undefined: it was not to be had. */
type AskDate = (url: string) => Promise<Date | undefined>

interface Known {
  readonly isSynchronised: () => Promise<boolean | undefined>
  readonly askDate: AskDate
}

/**
 * Whether the clock is right, as far as this machine and those whom it asks anyway know: what the database was told last, whether
 * the system says that it follows a time server, and what the CA says in its Date. A clock that is wrong refuses good mail and
 * certificates, and signs what others refuse.
 */
export async function checkClock(
  app: App,
  { isSynchronised, askDate }: Known = { isSynchronised: asksSystem, askDate: asksDate },
): Promise<Finding[]> {
  const now = app.clock.now()
  const { last } = await readRunning(app.config.data_dir)
  const written = [await findNewestEventAt(app.store.read), last?.startedAt ?? null].filter(at => at !== null)
  const newest = Math.max(...written.map(at => Date.parse(at)), 0)
  const behind = newest - now.getTime()
  if (behind > clockSkewMs) {
    const message = `the clock says ${now.toISOString()}, and the database was written at ${new Date(newest).toISOString()}: it is behind, or was ahead. Set it, and let it follow a time server`
    return [finding('error', 'clock_behind', 'clock', message, followTime)]
  }
  const { directory } = app.config.acme
  const [follows, told] = await Promise.all([
    isSynchronised(),
    directory === undefined ? undefined : askDate(directory),
  ])
  const skew = told === undefined ? 0 : told.getTime() - app.clock.now().getTime()
  if (Math.abs(skew) > clockSkewMs) {
    const seconds = Math.round(Math.abs(skew) / 1000)
    const message = `the clock is ${seconds} seconds ${skew > 0 ? 'behind' : 'ahead of'} that of ${new URL(directory!).host}: set it, and let it follow a time server`
    return [finding('error', 'clock_wrong', 'clock', message, followTime)]
  }
  if (follows === true || (follows === undefined && told !== undefined)) return []
  if (follows === false) {
    const message = 'the system says that the clock follows no time server: it goes wrong by and by'
    return [finding('warning', 'clock_not_synchronised', 'clock', message, followTime)]
  }
  const message = `nobody could be asked for the time (neither timedatectl nor a CA): compare "date -u" with another clock`
  return [notChecked('clock', message, 'hint')]
}

const followTime = 'timedatectl set-ntp true'

async function asksSystem(): Promise<boolean | undefined> {
  try {
    const args = ['show', '--property=NTPSynchronized', '--value']
    const { stdout } = await promisify(execFile)('timedatectl', args, { timeout: nameServerMs })
    return stdout.trim() === 'yes' ? true : stdout.trim() === 'no' ? false : undefined
  } catch {
    return undefined
  }
}

async function asksDate(url: string): Promise<Date | undefined> {
  try {
    const signal = AbortSignal.timeout(dnsTimeoutMs)
    const answer = await fetch(url, { method: 'HEAD', redirect: 'manual', signal })
    const date = new Date(answer.headers.get('date') ?? '')
    return Number.isNaN(date.getTime()) ? undefined : date
  } catch {
    return undefined
  }
}
