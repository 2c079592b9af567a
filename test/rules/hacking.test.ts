import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { blocksOf } from '../support/documents.ts'
import { root } from './source-tree.ts'

const text = readFileSync(join(root, 'HACKING.md'), 'utf8')
const documents = globSync(['*.md', 'docs/**/*.md', 'bench/*.md'], { cwd: root })

/** The names that a link can lead to in a document, as those who show Markdown make them of its headings. */
function anchorsOf(path: string): Set<string> {
  const prose = readFileSync(join(root, path), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '')
  const headings = [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!.toLowerCase())
  return new Set(headings.map(heading => heading.replaceAll(/[^\w\s-]/g, '').replaceAll(' ', '-')))
}

const section = (title: string) => text.split(/^## /m).find(part => part.startsWith(title)) ?? ''

t.test('a newcomer finds each rule in one file', async t => {
  const rows = [...section('Where is the rule for').matchAll(/^\| (.+\?) \| `(.+)` \|$/gm)]
  t.ok(rows.length >= 30, `${rows.length} questions`)
  t.equal(new Set(rows.map(([, question]) => question)).size, rows.length, 'each question once')
  const named = new Map<string, number>()
  for (const [, question, path] of rows) {
    t.match(path, /^lib\/[\w/-]+\.ts$/, question!)
    t.ok(existsSync(join(root, path!)), `${path} is there`)
    named.set(path!, (named.get(path!) ?? 0) + 1)
  }
  for (const [path, count] of named) t.ok(count <= 3, `${path} is the answer to ${count} questions`)
})

t.test('the table of rooms names every room, and no other', async t => {
  const told = [...section('The rooms').matchAll(/^\| `([a-z]+\/[a-z]+)` \|/gm)].map(([, room]) => room!)
  const layers = [...new Set(told.map(room => room.split('/')[0]!))]
  const there = layers.flatMap(layer =>
    readdirSync(join(root, 'lib', layer), { withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .map(entry => `${layer}/${entry.name}`),
  )
  t.ok(told.length > 20)
  t.same(told.toSorted(), there.toSorted())
})

t.test('what HACKING names in backticks is there', async t => {
  const tops = ['lib', 'test', 'bin', 'bench', 'config', 'docs', '.ci']
  const layers = readdirSync(join(root, 'lib'))
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '')
  const words = [...prose.matchAll(/`([^`]+)`/g)].flatMap(([, code]) => code!.split(/\s+/))
  const paths = words.filter(word => /^[\w.-]+\/[\w./*-]*$/.test(word) && !word.startsWith('..'))
  let count = 0
  for (const path of paths) {
    const top = path.split('/')[0]!
    if (!tops.includes(top) && !layers.includes(top)) continue
    count++
    const places = tops.includes(top) && top !== 'config' ? [path] : [`lib/${path}`, path]
    const forms = places.flatMap(place => [place, `${place}.ts`])
    t.ok(
      forms.some(form => globSync(form.replace(/\/$/, ''), { cwd: root }).length > 0),
      `${path} is there`,
    )
  }
  t.ok(count > 60, `${count} were looked for`)
})

t.test('each decision is a page with its figures, and the index has it', async t => {
  const folder = join(root, 'docs/decisions')
  const index = readFileSync(join(folder, 'README.md'), 'utf8')
  const pages = readdirSync(folder).filter(name => name !== 'README.md')
  t.ok(pages.length >= 9)
  for (const page of pages) {
    const lines = readFileSync(join(folder, page), 'utf8').split('\n')
    t.same(
      lines.filter(line => line.startsWith('## ')),
      ['## Context', '## Decision', '## Figures', '## What would change our mind'],
      page,
    )
    t.ok(lines.length <= 50, `${page} is half a page`)
    t.ok(index.includes(`[${lines[0]!.slice(2)}](${page})`), `the index has ${page}`)
  }
})

t.test('the links between the documents lead somewhere, to a heading where they name one', async t => {
  for (const path of documents) {
    for (const [, link] of readFileSync(join(root, path), 'utf8').matchAll(/\]\(([^):]+)\)/g)) {
      const [file, heading] = link!.split('#')
      const to = file === '' ? path : join(dirname(path), file!)
      t.ok(existsSync(join(root, to)), `${path}: ${link}`)
      if (heading !== undefined) t.ok(anchorsOf(to).has(heading), `${path}: ${link}`)
    }
  }
})

t.test('each guide is in the index, and its blocks are run by a story', async t => {
  const index = readFileSync(join(root, 'docs/README.md'), 'utf8')
  const guides = documents.filter(path => /^docs\/(agents|operators)\//.test(path))
  t.ok(guides.length > 10)
  for (const guide of guides) t.ok(index.includes(`](${guide.slice('docs/'.length)})`), guide)
  // Elsewhere stand commands for who works on the sources; these are scripts of package.json.
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const path of ['docs/reliability.md', 'docs/second-opinion.md', 'docs/standards.md']) {
    for (const { language, text, where } of blocksOf(path)) {
      const script = /^npm (?:run )?(\w+)/.exec(text)?.[1]
      t.ok(language === 'sh' && script !== undefined && script in scripts, where)
    }
  }
})

t.test('what the decisions name of lib is there', async t => {
  for (const path of globSync(['docs/**/*.md', 'CONTRIBUTING.md'], { cwd: root })) {
    for (const [, named] of readFileSync(join(root, path), 'utf8').matchAll(/`((?:lib|test)\/[\w./-]+)`/g)) {
      t.ok(existsSync(join(root, named!)), `${path}: ${named}`)
    }
  }
})
