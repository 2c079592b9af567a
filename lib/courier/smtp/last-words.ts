import type { Stage } from '../outcome.ts'
import { readReply } from './remote-reply.ts'

const steps: readonly (readonly [stage: Stage, wanted: string])[] = [
  ['mail', '2'],
  ['rcpt', '2'],
  ['data', '354'],
  ['message', ''],
]

/**
 * The reply that decided a transaction, among all that a peer said in it before it closed: the first that is not
 * the wish to go on. A peer that refuses a recipient and hangs up, without an answer to the DATA that was
 * pipelined behind (RFC 2920 §3.1), has refused all the same. Undefined when no reply, or no clear one, decided.
 */
export function findDecision(heard: string): { readonly stage: Stage; readonly lines: string } | undefined {
  const replies = completeReplies(heard)
  for (const [index, [stage, wanted]] of steps.entries()) {
    const lines = replies[index]
    const reply = lines === undefined ? undefined : readReply(lines)
    if (lines === undefined || reply === undefined) return undefined
    if (wanted === '' || !String(reply.code).startsWith(wanted)) return { stage, lines }
  }
  return undefined
}

function completeReplies(heard: string): string[] {
  const replies: string[] = []
  let reply = ''
  // What follows the last line end may be a part of a line.
  for (const line of heard.split(/\r?\n/).slice(0, -1)) {
    if (line.trim() === '') continue
    reply += reply === '' ? line : `\n${line}`
    if (/^\d{3}-/.test(line)) continue
    replies.push(reply)
    reply = ''
  }
  return replies
}
