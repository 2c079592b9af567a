import type { Clock } from './clock.ts'

/** When something is done, by the local time: every so many minutes of an hour; or at one minute of each hour, or of one a day. */
export type Schedule = { readonly everyMinutes: number } | { readonly minute: number; readonly hour?: number }

const minuteMs = 60_000

/** So many minutes that passed while the machine slept are made up for. */
const mostMissed = 60

/** @param at the beginning of a minute */
export function isDue(schedule: Schedule, at: Date): boolean {
  if ('everyMinutes' in schedule) return at.getMinutes() % schedule.everyMinutes === 0
  const { minute, hour = at.getHours() } = schedule
  return at.getMinutes() === minute && at.getHours() === hour
}

/**
 * Calls `begun` at the beginning of each minute with that instant, late and one after the other for those in which nothing ran. It
 * does not keep the process alive.
 */
export function everyMinute(clock: Pick<Clock, 'now'>, begun: (minute: Date) => void): { stop(): void } {
  const minuteOf = (at: Date) => Math.floor(at.getTime() / minuteMs)
  let last = minuteOf(clock.now())
  let timer: NodeJS.Timeout

  function wait(): void {
    const rest = minuteMs - (clock.now().getTime() % minuteMs)
    timer = setTimeout(tick, rest).unref()
  }

  function tick(): void {
    const current = minuteOf(clock.now())
    for (let minute = Math.max(last + 1, current - mostMissed + 1); minute <= current; minute++) {
      begun(new Date(minute * minuteMs))
    }
    // A clock that was put back begins again from there.
    last = current
    wait()
  }

  wait()
  return { stop: () => clearTimeout(timer) }
}
