/** What stands at declared paths, such as `/v1/inboxes/{id}`, for each method. */
export interface Routes<Target> {
  /** @param isExact no slash may follow */
  add(method: string, path: string, target: Target, isExact?: boolean): void
  /** What is at a path, with its parameters decoded; of a path with other methods alone those that it has; undefined for no path. */
  find(method: string, path: string): Found<Target> | { readonly allowed: readonly string[] } | undefined
}

export interface Found<Target> {
  readonly target: Target
  readonly params: Readonly<Record<string, string>>
}

/** One segment of all paths; text goes before a parameter. */
interface Node<Target> {
  readonly texts: Map<string, Node<Target>>
  parameter: Node<Target> | undefined
  /** By method in upper case; HEAD is GET. */
  readonly ends: Map<string, End<Target>>
}

interface End<Target> {
  readonly target: Target
  readonly names: readonly string[]
  readonly isExact: boolean
}

export function createRoutes<Target>(): Routes<Target> {
  const root = createNode<Target>()
  return {
    add(method, path, target, isExact = false) {
      const names: string[] = []
      let node = root
      for (const segment of path.split('/').slice(1)) {
        const name = /^\{(\w+)\}$/.exec(segment)?.[1]
        if (name !== undefined) names.push(name)
        node = childOf(node, name === undefined ? segment : undefined)
      }
      node.ends.set(method.toUpperCase(), { target, names, isExact })
    },
    find(method, path) {
      const segments = path.split('/')
      const hasSlash = segments.length > 2 && segments.at(-1) === ''
      if (hasSlash) segments.pop()
      const values: string[] = []
      const node = walk(root, segments, 1, values)
      if (!node) return undefined
      const end = node.ends.get(method === 'HEAD' ? 'GET' : method)
      if (end)
        return hasSlash && end.isExact ? undefined : { target: end.target, params: paramsOf(end, values) }
      const allowed = [...node.ends].filter(([, other]) => !(hasSlash && other.isExact)).map(([name]) => name)
      return allowed.length === 0 ? undefined : { allowed: withHead(allowed) }
    },
  }
}

function createNode<Target>(): Node<Target> {
  return { texts: new Map(), parameter: undefined, ends: new Map() }
}

function childOf<Target>(node: Node<Target>, text: string | undefined): Node<Target> {
  if (text === undefined) {
    node.parameter ??= createNode()
    return node.parameter
  }
  let child = node.texts.get(text)
  if (!child) {
    child = createNode()
    node.texts.set(text, child)
  }
  return child
}

/** The node at the end of the path that ends something; `values` are then those of its parameters. */
function walk<Target>(
  node: Node<Target>,
  segments: readonly string[],
  at: number,
  values: string[],
): Node<Target> | undefined {
  const segment = segments[at]
  if (segment === undefined) return node.ends.size > 0 ? node : undefined
  const child = node.texts.get(segment)
  const found = child && walk(child, segments, at + 1, values)
  if (found || !node.parameter || segment === '') return found
  values.push(segment)
  const further = walk(node.parameter, segments, at + 1, values)
  if (!further) values.pop()
  return further
}

function paramsOf({ names }: End<unknown>, values: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {}
  for (const [index, name] of names.entries()) params[name] = decode(values[index]!)
  return params
}

/** What is not percent-encoded UTF-8 stays as it is, and names nothing. */
function decode(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function withHead(methods: readonly string[]): string[] {
  return methods.flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
}
