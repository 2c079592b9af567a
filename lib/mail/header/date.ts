const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** The zones of RFC 5322 §4.3 that are names, in hours. All others say nothing, which is -0000. */
const zones: Readonly<Record<string, number>> = {
  edt: -4,
  est: -5,
  cdt: -5,
  cst: -6,
  mdt: -6,
  mst: -7,
  pdt: -7,
  pst: -8,
}

const form =
  /^(?:[a-z]{3,9}\.?\s*,?\s*)?(\d{1,2})[\s-]+([a-z]{3})[a-z]{0,6}\.?[\s-]+(\d{2,4})\s+(\d{1,2})\s*:\s*(\d{2})(?:\s*:\s*(\d{2}))?(?:\s*([+-]\d{4}|[a-z]{1,5}))?(?:\s|$)/i

/**
 * A date-time of a header (RFC 5322 §3.3, the obsolete forms of §4.3 too) as an ISO instant; null when it is none.
 * Date.parse would take much else for a date, and a date without a zone for one of this machine's.
 */
export function parseDate(text: string): string | null {
  const match = form.exec(withoutComments(text.slice(0, 200)).trim())
  if (!match) return null
  const [, day, monthName, yearText, hour, minute, second, zone] = match
  const month = months.indexOf(monthName!.toLowerCase())
  const parts = [Number(day), Number(hour), Number(minute), Number(second ?? 0)] as const
  const at = Date.UTC(fullYear(yearText!), month, parts[0], parts[1], parts[2], Math.min(parts[3], 59))
  const isReal = month >= 0 && parts[0] >= 1 && parts[1] < 24 && parts[2] < 60 && parts[3] <= 60
  const offset = minutesOf(zone ?? '')
  if (!isReal || new Date(at).getUTCDate() !== parts[0] || offset === undefined) return null
  return new Date(at - offset * 60_000).toISOString()
}

/** RFC 5322 §4.3: two digits are 2000 to 2049 and 1950 to 1999, three count from 1900. */
function fullYear(text: string): number {
  const year = Number(text)
  if (text.length > 3) return year
  return text.length === 2 && year < 50 ? year + 2000 : year + 1900
}

function minutesOf(zone: string): number | undefined {
  const numeric = /^([+-])(\d\d)(\d\d)$/.exec(zone)
  if (!numeric) return (zones[zone.toLowerCase()] ?? 0) * 60
  const minutes = Number(numeric[2]) * 60 + Number(numeric[3])
  if (Number(numeric[3]) > 59) return undefined
  return numeric[1] === '-' ? -minutes : minutes
}

/** Without `(…)`, also in one another. */
function withoutComments(text: string): string {
  let depth = 0
  let kept = ''
  for (const character of text) {
    if (character === '(') depth++
    else if (character === ')') depth = Math.max(depth - 1, 0)
    else if (depth === 0) kept += character
  }
  return kept
}
