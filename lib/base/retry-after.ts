/** The three forms of an HTTP-date (RFC 9110 §5.6.7); the last one says no zone and means GMT as well. */
const imfFixdate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
const rfc850 = /^[A-Z][a-z]{5,8}, (\d{2})-([A-Z][a-z]{2})-(\d{2}) (\d{2}:\d{2}:\d{2}) GMT$/
const asctime = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

/**
 * What a Retry-After asks for, in milliseconds from `now`: seconds or an HTTP-date (RFC 9110 §10.2.3), from 0 up to
 * `mostMs`. Undefined when it is neither.
 */
export function readRetryAfter(text: string, now: Date, mostMs: number): number | undefined {
  const value = text.trim()
  const waitMs = /^\d+$/.test(value) ? Number(value) * 1000 : dateOf(value, now) - now.getTime()
  if (Number.isNaN(waitMs)) return undefined
  return Math.min(Math.max(waitMs, 0), mostMs)
}

function dateOf(value: string, now: Date): number {
  if (imfFixdate.test(value)) return Date.parse(value)
  if (asctime.test(value)) return Date.parse(`${value} GMT`)
  const [, day, month, year, time] = rfc850.exec(value) ?? []
  if (year === undefined) return Number.NaN
  // Two digits that seem more than 50 years ahead are of the century before (RFC 9110 §5.6.7).
  const inThisCentury = now.getUTCFullYear() - (now.getUTCFullYear() % 100) + Number(year)
  const full = inThisCentury > now.getUTCFullYear() + 50 ? inThisCentury - 100 : inThisCentury
  return Date.parse(`${day} ${month} ${full} ${time} GMT`)
}
