import type { AnyNode } from 'acorn'
import { nodesOf } from './syntax.ts'

/** One small fault that could be made in a source. */
export interface Mutant {
  readonly line: number
  readonly start: number
  readonly end: number
  /** What stands at start to end instead. */
  readonly text: string
  /** What it is, to be read by a person. */
  readonly what: string
}

const swapped: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
}

/**
 * The faults of a TypeScript source, in its order: a condition that always holds or never does, a comparison or an operator that is
 * another, a call that is not made (but of the log), a `!` and a `??` that are forgotten, a truth that is the other one, a number that is one more.
 */
export function mutantsOf(source: string): Mutant[] {
  const mutants: Mutant[] = []
  const add = (from: number, to: number, text: string, what?: string) => {
    const was = source.slice(from, to)
    const line = source.slice(0, from).split('\n').length
    mutants.push({ line, start: from, end: to, text, what: what ?? `${short(was)} → ${short(text)}` })
  }
  for (const node of nodesOf(source)) mutate(node, source, add)
  return mutants.sort((a, b) => a.start - b.start || a.end - b.end)
}

type Add = (from: number, to: number, text: string, what?: string) => void

function mutate(node: AnyNode, source: string, add: Add): void {
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
      add(node.test.start, node.test.end, 'true')
      add(node.test.start, node.test.end, 'false')
      return
    case 'BinaryExpression':
    case 'LogicalExpression':
      operator(node, source, add)
      return
    case 'UnaryExpression':
      if (node.operator === '!')
        add(node.start, node.argument.start, '', `! left out of ${short(source.slice(node.start, node.end))}`)
      return
    case 'ExpressionStatement': {
      const { expression } = node
      const called = expression.type === 'AwaitExpression' ? expression.argument : expression
      if (called.type === 'CallExpression' && !isLog(called.callee, source))
        add(node.start, node.end, ';', `left out: ${short(source.slice(node.start, node.end))}`)
      return
    }
    case 'Literal':
      if (typeof node.value === 'boolean') add(node.start, node.end, String(!node.value))
      else if (typeof node.value === 'number') add(node.start, node.end, `(${node.value} + 1)`)
  }
}

/** What only a person reads is held by few tests, and need not be. */
function isLog({ start, end }: AnyNode, source: string): boolean {
  return /\blog\??\.(debug|info|warn|error)$/i.test(source.slice(start, end))
}

function operator(
  node: Extract<AnyNode, { type: 'BinaryExpression' | 'LogicalExpression' }>,
  source: string,
  add: Add,
): void {
  if (node.operator === '??') {
    add(node.left.end, node.right.end, '', `?? left out of ${short(source.slice(node.start, node.end))}`)
    return
  }
  const other = swapped[node.operator]
  const at = source.indexOf(node.operator, node.left.end)
  // Of strings and of numbers it is the same sign; of strings nothing else can stand there.
  const isText = node.operator === '+' && /['"`]/.test(source.slice(node.start, node.end))
  if (other === undefined || isText || at < 0 || at >= node.right.start) return
  add(at, at + node.operator.length, other, `${short(source.slice(node.start, node.end))} with ${other}`)
}

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > 70 ? `${line.slice(0, 69)}…` : line
}
