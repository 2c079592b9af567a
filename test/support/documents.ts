import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

/** A block between fences of one of our documents. */
export interface Block {
  /** "README.md:55", the line of its fence. */
  readonly where: string
  /** The heading of the second level that it stands under, or "". */
  readonly section: string
  readonly language: string
  readonly text: string
}

/** The blocks of a document, in order. @param document its path from the root of the checkout */
export function blocksOf(document: string): Block[] {
  const blocks: Block[] = []
  let section = ''
  let open: { line: number; language: string; lines: string[] } | undefined
  for (const [index, line] of readFileSync(join(root, document), 'utf8').split('\n').entries()) {
    const fence = /^```(.*)$/.exec(line)
    if (open && fence) {
      const text = open.lines.map(one => `${one}\n`).join('')
      blocks.push({ where: `${document}:${open.line}`, section, language: open.language, text })
      open = undefined
    } else if (open) open.lines.push(line)
    else if (fence) open = { line: index + 1, language: fence[1]!, lines: [] }
    else if (line.startsWith('## ')) section = line.slice(3)
  }
  if (open) throw new Error(`${document}:${open.line} is never closed`)
  return blocks
}

/** A block that is run otherwise than as it stands and in its turn. */
export interface Exception {
  /** How its text begins. */
  readonly begins: string
  /** Why. */
  readonly reason: string
  /** Shell commands in its place. `$block` is a file with its text, `$said` one with what it has printed. */
  readonly instead: string
}

/**
 * A shell script that does what a reader does with the blocks, in order and in one shell: a shell block is run, a block whose first
 * line is a comment with the name of a file is written to that file, and TOML without one is checked as a configuration. What was
 * printed stands in the output below `== ` and the place of the block. An answer of HTTP that is a refusal ends it like any other failure.
 */
export function scriptOf(blocks: readonly Block[], exceptions: readonly Exception[]): string {
  const idle = new Set(exceptions)
  const parts = blocks.map(block => {
    const exception = exceptions.find(one => block.text.startsWith(one.begins))
    if (exception) idle.delete(exception)
    if (isOutput(block)) return ''
    return `${put('"$block"', block.text)}echo "== ${block.where}"
{
${exception?.instead ?? actionOf(block)}
} > "$said" 2>&1
cat "$said"
`
  })
  for (const one of idle) throw new Error(`no block begins with: ${one.begins}`)
  return `set -o pipefail
block=/root/block said=/root/said
exec 3>&1
trap '[ $? = 0 ] || cat "$said" >&3' EXIT
echo 'fail-with-body' > /root/.curlrc
${parts.join('')}`
}

const isOutput = ({ language }: Block) => language === 'text' || language === 'json'

function actionOf({ where, language, text }: Block): string {
  const file = /^(?:\/\/|#) ([\w-]+\.\w+)$/.exec(text.split('\n')[0]!)?.[1]
  if (file) return `cp "$block" '${file}'`
  if (language === 'sh') return '. "$block"'
  if (language === 'toml') {
    const names = 'hostname = "mail.example.com"\\naccount_domain = "example.com"\\n'
    return `printf '${names}' | cat - "$block" > tried.toml\nmailboxctl --config "$PWD/tried.toml" config check`
  }
  throw new Error(`${where}: nobody knows how to run ${language}`)
}

function put(file: string, text: string): string {
  return `cat > ${file} <<'END-OF-THE-BLOCK'\n${text}END-OF-THE-BLOCK\n`
}

/**
 * What stands in blocks of `text` and `json` was promised by the block before, and not printed by it; and blocks that were not run. In them `…` stands
 * for anything in a line, and alone in a line for lines.
 * @param printed by the script of `scriptOf`
 */
export function unkept(blocks: readonly Block[], printed: string): string[] {
  const said = new Map(
    printed
      .split(/^== /m)
      .slice(1)
      .map(part => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]),
  )
  let last = ''
  return blocks.flatMap(block => {
    if (!isOutput(block)) {
      last = block.where
      return said.has(last) ? [] : [`${last} was not run`]
    }
    const pattern = block.text
      .trimEnd()
      .replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
      .replaceAll(/^…$/gm, '[\\s\\S]*?')
      .replaceAll('…', '.*?')
    const answer = said.get(last) ?? ''
    return new RegExp(pattern).test(answer) ? [] : [`${block.where} was not printed by ${last}:\n${answer}`]
  })
}
