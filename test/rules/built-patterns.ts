/**
 * Prints the regular expressions that files of lib build from parts, as they are at run time. Those that are built when
 * the file is loaded are seen by loading it; what is built later is called here. Reads a list of files as JSON.
 */

import { relative } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import type { Pattern } from './patterns.ts'
import { root } from './source-tree.ts'

const seen: Pattern[] = []
globalThis.RegExp = new Proxy(RegExp, {
  construct(target, [pattern, flags]: [string, string?]) {
    const built = new target(pattern, flags)
    const [, file = '', line = ''] =
      /(file:[^\s()]+\.ts):(\d+)/.exec(new Error().stack?.split('\n')[2] ?? '') ?? []
    if (file !== '') {
      const place = `${relative(root, new URL(file).pathname)}:${line}`
      seen.push({ source: built.source, flags: built.flags, place })
    }
    return built
  },
})

const files: string[] = JSON.parse(await text(process.stdin))
for (const file of files) await import(pathToFileURL(`${root}/${file}`).href)

// From config/replies.txt, which is a file of the package; and one by the width of a page.
const { loadReplyRules } = await import('../../lib/mail/report/reply-rules.ts')
loadReplyRules()
const { exampleConfig } = await import('../../lib/config/describe.ts')
exampleConfig()

console.log(JSON.stringify(seen))
