import type { Fault, Given } from '../base/problem.ts'

import { randomBase62 } from '../base/secrets.ts'

/** The contents of attachments: not part of what is parsed and validated, where a name stands for each of them. */
export class Contents {
  readonly #kept = new Map<string, Buffer | undefined>()
  #prefix = ''

  /** Keeps bytes, or what was no base64, and gives the name: a text that no client can have sent. */
  keep(content: Buffer | undefined): string {
    this.#prefix ||= randomBase62(22)
    const name = `${this.#prefix}${this.#kept.size}`
    this.#kept.set(name, content)
    return name
  }

  /** Puts the bytes where their names stand in the attachments of a request, of whatever form; gives those that were no base64. */
  putInto({ attachments }: Given): readonly Fault[] {
    if (this.#kept.size === 0 || !Array.isArray(attachments)) return []
    const faults: Fault[] = []
    for (const [index, attachment] of (attachments as unknown[]).entries()) {
      if (typeof attachment !== 'object' || attachment === null) continue
      const { content: name } = attachment as { content?: unknown }
      if (typeof name !== 'string' || !this.#kept.has(name)) continue
      const content = this.#kept.get(name)
      if (content) Object.assign(attachment, { content })
      else faults.push({ path: `/attachments/${index}/content`, message: 'must be base64' })
    }
    return faults
  }
}
