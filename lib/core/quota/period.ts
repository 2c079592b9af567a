/** The UTC day of an instant, as counts name it: 2026-01-31. */
export function utcDay(at: Date): string {
  return at.toISOString().slice(0, 10)
}

/** The UTC hour of an instant, as counts name it: 2026-01-31T09. */
export function utcHour(at: Date): string {
  return at.toISOString().slice(0, 13)
}

/** The UTC month of an instant, as counts name it: 2026-01. */
export function utcMonth(at: Date): string {
  return at.toISOString().slice(0, 7)
}

export function nextHour(at: Date): Date {
  return new Date(at.getTime() - (at.getTime() % 3_600_000) + 3_600_000)
}

export function nextDay(at: Date): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() + 1))
}

export function nextMonth(at: Date): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1))
}

/** Whole seconds until `then`, at least one, as Retry-After has them (RFC 9110 §10.2.3). */
export function secondsUntil(then: Date, now: Date): number {
  return Math.max(Math.ceil((then.getTime() - now.getTime()) / 1000), 1)
}
