import type { AnyNode } from 'acorn'
import { nodesOf } from './syntax.ts'

/** One small fault that could be made in a source. */
export interface Mutant {
  readonly line: number
  readonly start: number
  readonly end: number
  /** What stands at start to end instead. */
  readonly text: string
  /** Where the expression or statement begins and ends in which that is. */
  readonly within: readonly [number, number]
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
 * another, a call that is not made, a `!` and a `??` that are forgotten, a truth that is the other one, a number that is one more. None in what
 * only a person reads or only the pace shows: `silent`.
 */
export function mutantsOf(source: string): Mutant[] {
  const mutants: Mutant[] = []
  const add = (within: AnyNode, from: number, to: number, text: string, what?: string) => {
    const was = source.slice(from, to)
    const line = source.slice(0, from).split('\n').length
    mutants.push({
      line,
      start: from,
      end: to,
      text,
      within: [within.start, within.end],
      what: what ?? `${short(was)} → ${short(text)}`,
    })
  }
  const left: AnyNode[] = []
  for (const node of nodesOf(source)) {
    mutate(node, source, add)
    left.push(...silent(node, source))
  }
  const isLeft = (one: Mutant) => left.some(({ start, end }) => one.start >= start && one.end <= end)
  return mutants.filter(one => !isLeft(one)).sort((a, b) => a.start - b.start || a.end - b.end)
}

/**
 * What of a node no test is to hold: what a line of the log says and when it is written, where nothing else is done; what is said of a bug (a plain
 * `Error` ends at a door, which tells nobody of it); how much a stream reads ahead; and by how much something is sorted before something else.
 */
function silent(node: AnyNode, source: string): AnyNode[] {
  switch (node.type) {
    case 'ExpressionStatement':
      return isLogged(node, source) ? [node] : []
    case 'IfStatement':
      return !node.alternate && isLogged(node.consequent, source) ? [node] : []
    case 'NewExpression':
      return node.callee.type === 'Identifier' && node.callee.name === 'Error' ? [...node.arguments] : []
    case 'CallExpression':
      return isSort(node.callee) ? node.arguments.flatMap(signs) : []
    case 'Property':
      if (node.key.type === 'Identifier' && node.key.name === 'highWaterMark') return [node.value]
      // Nothing but a name can stand there.
      return node.computed ? [] : [node.key]
    default:
      return []
  }
}

function isSort(callee: AnyNode): boolean {
  const { type, property } = callee as { type: string; property?: AnyNode }
  return (
    type === 'MemberExpression' &&
    property?.type === 'Identifier' &&
    /^(?:sort|toSorted)$/.test(property.name)
  )
}

/** The numbers that a comparison gives, of which the sign alone counts. */
function signs(node: AnyNode): AnyNode[] {
  if (node.type === 'ArrowFunctionExpression') return signs(node.body)
  if (node.type === 'ConditionalExpression') return [node.consequent, node.alternate].flatMap(signs)
  const isOne = node.type === 'Literal' ? node.value === 1 : node.type === 'UnaryExpression'
  return isOne ? [node] : []
}

/** Whether a statement writes a line of the log and does no more. */
function isLogged(node: AnyNode, source: string): boolean {
  if (node.type === 'BlockStatement') return node.body.length === 1 && isLogged(node.body[0]!, source)
  const called = node.type === 'ExpressionStatement' ? node.expression : undefined
  return called?.type === 'CallExpression' && isLog(called.callee, source)
}

type Add = (within: AnyNode, from: number, to: number, text: string, what?: string) => void

function mutate(node: AnyNode, source: string, add: Add): void {
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
      add(node.test, node.test.start, node.test.end, 'true')
      add(node.test, node.test.start, node.test.end, 'false')
      return
    case 'BinaryExpression':
    case 'LogicalExpression':
      operator(node, source, add)
      return
    case 'UnaryExpression':
      if (node.operator === '!')
        add(
          node,
          node.start,
          node.argument.start,
          '',
          `! left out of ${short(source.slice(node.start, node.end))}`,
        )
      return
    case 'ExpressionStatement': {
      const { expression } = node
      const called = expression.type === 'AwaitExpression' ? expression.argument : expression
      if (called.type === 'CallExpression')
        add(node, node.start, node.end, '{}', `left out: ${short(source.slice(node.start, node.end))}`)
      return
    }
    case 'Literal':
      if (typeof node.value === 'boolean') add(node, node.start, node.end, String(!node.value))
      else if (typeof node.value === 'number') add(node, node.start, node.end, `(${node.value} + 1)`)
  }
}

function isLog({ start, end }: AnyNode, source: string): boolean {
  return /\blog(?:\??\.(?:debug|info|warn|error)|\[.*\])$/is.test(source.slice(start, end))
}

function operator(
  node: Extract<AnyNode, { type: 'BinaryExpression' | 'LogicalExpression' }>,
  source: string,
  add: Add,
): void {
  if (node.operator === '??') {
    add(
      node,
      node.left.end,
      node.right.end,
      '',
      `?? left out of ${short(source.slice(node.start, node.end))}`,
    )
    return
  }
  const other = swapped[node.operator]
  const at = source.indexOf(node.operator, node.left.end)
  // Of strings and of numbers it is the same sign; of strings nothing else can stand there.
  const isText = node.operator === '+' && /['"`]/.test(source.slice(node.start, node.end))
  if (other === undefined || isText || at < 0 || at >= node.right.start) return
  add(
    node,
    at,
    at + node.operator.length,
    other,
    `${short(source.slice(node.start, node.end))} with ${other}`,
  )
}

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > 70 ? `${line.slice(0, 69)}…` : line
}
