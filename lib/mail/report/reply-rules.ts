import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../base/package-root.ts'
import { type ReplyClass, replyClasses } from '../../base/reply.ts'

/** One line of config/replies.txt. */
export interface ReplyRule {
  readonly pattern: RegExp
  /** `code` leaves the result to the reply's digits and only names the class. */
  readonly result: 'transient' | 'permanent' | 'code'
  readonly replyClass: ReplyClass
}

/** The rules that come with the program: config/replies.txt of the package. */
export function loadReplyRules(
  file: string = join(packageRoot(), 'config', 'replies.txt'),
): readonly ReplyRule[] {
  return readReplyRules(readFileSync(file, 'utf8'))
}

/** Reads rules in the form that config/replies.txt explains. Throws with the number of a line that has none. */
export function readReplyRules(text: string): readonly ReplyRule[] {
  const rules: ReplyRule[] = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [pattern, result, name, ...more] = line.split('\t')
    const replyClass = replyClasses.find(one => one === name)
    const isWhole = pattern && replyClass && more.length === 0
    if (!isWhole || (result !== 'transient' && result !== 'permanent' && result !== 'code'))
      throw new Error(`reply rules, line ${index + 1}: want "pattern, tab, result, tab, class"`)
    rules.push({ pattern: new RegExp(pattern, 'i'), result, replyClass })
  }
  return rules
}

/** A refusal, in a session or quoted in a text; `code` is left out where only an enhanced one, or words, are said. */
export interface Refusal {
  readonly code?: number | undefined
  readonly enhanced?: string | undefined
  readonly text: string
}

/** The first rule that knows the reply. */
export function findRule(
  rules: readonly ReplyRule[],
  { code, enhanced, text }: Refusal,
): ReplyRule | undefined {
  const line = `${code ?? (enhanced?.startsWith('4') ? 450 : 550)} ${enhanced ?? '-'} ${text}`
  return rules.find(({ pattern }) => pattern.test(line))
}

let own: readonly ReplyRule[] | undefined

/** What a refusal is about, by the rules that come with the program; undefined when none knows it. */
export function classOf(refusal: Refusal): ReplyClass | undefined {
  own ??= loadReplyRules()
  return findRule(own, refusal)?.replyClass
}
