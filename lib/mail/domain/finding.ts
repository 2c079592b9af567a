import { oneLine } from '../../base/text.ts'

/** What a check of a domain, its host or the server found. */
export interface Finding {
  /** error: mail is lost or refused; warning: some of it, or soon, or it is not known; hint: what is good to have. */
  readonly level: 'error' | 'warning' | 'hint'
  readonly code: string
  /** The name, address or file that it is about. */
  readonly subject: string
  readonly message: string
  /** What to put into a zone, a file or a shell; null: there is no such text. */
  readonly paste: string | null
}

/** A finding of these parts; what strangers said in it is one bounded line. */
export function finding(
  level: Finding['level'],
  code: string,
  subject: string,
  message: string,
  paste: string | null = null,
): Finding {
  return { level, code, subject: oneLine(subject), message: oneLine(message), paste }
}

/** What could not be asked of DNS: that is never taken for well. */
export function unanswered(subject: string, what: string): Finding {
  const message = `DNS gave no answer for ${what}: try again, or see to the DNS server`
  return finding('warning', 'dns_unanswered', subject, message)
}

/** A check that could not be made: that is never taken for well. @param why in a sentence, and what to do */
export function notChecked(subject: string, why: string, level: Finding['level'] = 'warning'): Finding {
  return finding(level, 'not_checked', subject, `not checked: ${why}`)
}
