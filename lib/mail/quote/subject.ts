import { formsOf } from './forms.ts'

/** What stands for "Re:" in the mail of others: German, Nordic, Dutch, Italian, Portuguese, Polish, Turkish, Chinese … */
const replyPrefix =
  /^\s*(?:re|aw|antw|antwort|sv|vs|ad|r|rif|res|odp|ynt|vá|atb|σχετ|ответ|回复|回覆|答复)\s*(?:(?:\[\d+\]|\(\d+\)|\^\d+)\s*)?[:：]/iu

/** Whether a subject begins as those of replies do: `Re: …`, `AW: …`. */
export function isReplySubject(subject: string): boolean {
  return replyPrefix.test(subject)
}

/** Prefixes that are taken off, one after the other. */
const prefixes = 10

/** A subject without what says that it is a reply, in lower case: replies to one message have the same. */
export function bareSubject(subject: string): string {
  let bare = subject.trim()
  for (let taken = 0; taken < prefixes && isReplySubject(bare); taken++)
    bare = bare.replace(replyPrefix, '').trim()
  return bare.toLowerCase()
}

const forwardPrefixes = new Set(formsOf('prefix'))
/** Of the longest prefix. */
const prefixLength = 20

/** Whether a subject begins as those of forwarded messages do: `Fwd: …`, `WG: …`. */
export function isForwardSubject(subject: string): boolean {
  const said = subject.slice(0, 200).trimStart().slice(0, prefixLength)
  const colon = said.search(/[:：]/u)
  return colon > 0 && forwardPrefixes.has(said.slice(0, colon).trimEnd().toLowerCase())
}
