import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../base/package-root.ts'
import type { RemoteReply } from './remote-reply.ts'

/** One line of config/replies.txt. */
export interface ReplyRule {
  readonly pattern: RegExp
  /** `code` leaves the result to the reply's digits and only names the category. */
  readonly result: 'transient' | 'permanent' | 'code'
  readonly category: string
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
    const [pattern, result, category, ...more] = line.split('\t')
    const isWhole = pattern && category && /^[a-z][a-z-]*$/.test(category) && more.length === 0
    if (!isWhole || (result !== 'transient' && result !== 'permanent' && result !== 'code'))
      throw new Error(`reply rules, line ${index + 1}: want "pattern, tab, result, tab, category"`)
    rules.push({ pattern: new RegExp(pattern, 'i'), result, category })
  }
  return rules
}

/** The first rule that knows the reply. */
export function findRule(rules: readonly ReplyRule[], reply: RemoteReply): ReplyRule | undefined {
  const line = `${reply.code} ${reply.enhanced ?? '-'} ${reply.text}`
  return rules.find(({ pattern }) => pattern.test(line))
}
