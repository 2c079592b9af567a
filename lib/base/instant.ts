const form = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/

/**
 * An instant (RFC 3339 §5.6; seconds may be left out), or a date as its midnight in UTC, in the form that rows carry and
 * compare by: ISO 8601 with milliseconds and `Z`. Undefined for anything else.
 */
export function readInstant(text: string): string | undefined {
  const ms = form.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}
