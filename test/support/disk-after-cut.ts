import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { NameStep, RenameStep, Step, TruncateStep, WriteStep } from './disk-journal.ts'

/** What a disk may tear a write at. */
const sectorBytes = 512

/** Bytes that grow. */
interface Content {
  bytes: Buffer
  length: number
}

type Change = WriteStep | TruncateStep
type NameChange = NameStep | RenameStep

/** A file, as it is for sure and what was done to it since; or a folder, which has names alone. */
interface Node {
  readonly kind: 'file' | 'folder'
  readonly synced: Content
  changes: Change[]
}

/** Which of what was not synced the disk has kept nevertheless. */
export interface Luck {
  /** How many of so many changes of names, which a file system makes in their order. */
  names(count: number): number
  /** Whether it has this sector, or this truncation. */
  sector(): boolean
}

/** Nothing is kept that no fsync was for: of a name, one of its folder. */
export const worstLuck: Luck = { names: () => 0, sector: () => false }
export const bestLuck: Luck = { names: count => count, sector: () => true }

/** Some of it, by a number that gives the same each time (mulberry32). */
export function randomLuck(seed: number): Luck {
  let state = seed | 0
  const random = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const share = random()
  return { names: count => Math.floor(random() * (count + 1)), sector: () => random() < share }
}

export interface DiskModel {
  /** @throws Error where the step can't be: then the journal lacks something */
  apply(step: Step): void
  /** Makes the files below `to`, in place of what is there, as a power cut at this moment leaves them. */
  cut(luck: Luck, to: string): void
}

/** The files below `root`, of which a program's journal is read step by step: what of them the disk has for sure, and what it may have. */
export function modelDisk(root: string): DiskModel {
  const live = new Map<string, Node>([[root, folder()]])
  const synced = new Map(live)
  let names: (NameChange & { readonly node: Node | undefined })[] = []
  const begun = new Map<string, number>()

  function nodeAt(path: string): Node {
    const node = live.get(path)
    if (!node) throw new Error(`the journal has nothing that made ${path}`)
    return node
  }

  function name(step: NameChange, node: Node | undefined): void {
    changeName(live, step, node)
    names.push({ ...step, node })
  }

  /** That of the folder at `path` is on the disk which was done before `from`. */
  function endSync(path: string, from: number): void {
    const node = live.get(path)
    if (!node) return // it was removed meanwhile
    if (node.kind === 'folder') {
      const isDone = (step: NameChange) => step.at < from && folderOf(step) === path
      for (const step of names.filter(isDone)) changeName(synced, step, step.node)
      names = names.filter(step => !isDone(step))
    } else {
      for (const change of node.changes.filter(({ at }) => at < from)) changeContent(node.synced, change)
      node.changes = node.changes.filter(({ at }) => at >= from)
    }
  }

  return {
    apply(step) {
      // A file without a name any more: nobody finds it after the cut.
      if (step.path.endsWith(' (deleted)')) return
      if (step.what === 'create' || step.what === 'mkdir')
        name(step, step.what === 'create' ? file() : folder())
      else if (step.what === 'rename' || step.what === 'link') name(step, nodeAt(step.path))
      else if (step.what === 'unlink') name(step, undefined)
      else if (step.what === 'sync begin') begun.set(step.token, step.at)
      else if (step.what === 'sync end') endSync(step.path, begun.get(step.token)!)
      else if (step.what === 'write' || step.what === 'truncate') nodeAt(step.path).changes.push(step)
    },
    cut(luck, to) {
      const kept = new Map(synced)
      for (const step of names.slice(0, luck.names(names.length))) changeName(kept, step, step.node)
      rmSync(to, { recursive: true, force: true })
      mkdirSync(to, { recursive: true })
      for (const [path, node] of kept) {
        const isReachable = path === root || isIn(kept, dirname(path), root)
        if (!isReachable) continue
        const target = join(to, relative(root, path))
        if (node.kind === 'folder') mkdirSync(target, { recursive: true })
        else {
          mkdirSync(dirname(target), { recursive: true })
          writeFileSync(target, contentAfter(node, luck))
        }
      }
    },
  }
}

const file = (): Node => ({ kind: 'file', synced: { bytes: Buffer.alloc(0), length: 0 }, changes: [] })
const folder = (): Node => ({ ...file(), kind: 'folder' })
const newPathOf = (step: NameChange) => (step.what === 'rename' || step.what === 'link' ? step.to : step.path)
const folderOf = (step: NameChange) => dirname(newPathOf(step))

/** Whether a folder and all above it have their names. */
function isIn(kept: ReadonlyMap<string, Node>, path: string, root: string): boolean {
  return path === root || (kept.has(path) && isIn(kept, dirname(path), root))
}

function changeName(map: Map<string, Node>, step: NameChange, node: Node | undefined): void {
  if (step.what === 'rename' || step.what === 'unlink') map.delete(step.path)
  if (node) map.set(newPathOf(step), node)
}

function changeContent(content: Content, change: Change): void {
  const end = change.what === 'write' ? change.offset + change.bytes.length : change.length
  if (end > content.bytes.length) {
    const larger = Buffer.alloc(Math.max(end, content.bytes.length * 2))
    content.bytes.copy(larger, 0, 0, content.length)
    content.bytes = larger
  }
  if (change.what === 'write') change.bytes.copy(content.bytes, change.offset)
  // What a file grows by later is zeros.
  else content.bytes.fill(0, change.length)
  content.length = change.what === 'write' ? Math.max(content.length, end) : end
}

function contentAfter({ synced, changes }: Node, luck: Luck): Buffer {
  const content = { bytes: Buffer.from(synced.bytes), length: synced.length }
  for (const change of changes) {
    if (change.what === 'truncate') {
      if (luck.sector()) changeContent(content, change)
      continue
    }
    for (let from = 0; from < change.bytes.length; ) {
      const offset = change.offset + from
      const to = Math.min(change.bytes.length, from + sectorBytes - (offset % sectorBytes))
      if (luck.sector()) changeContent(content, { ...change, offset, bytes: change.bytes.subarray(from, to) })
      from = to
    }
  }
  return content.bytes.subarray(0, content.length)
}
