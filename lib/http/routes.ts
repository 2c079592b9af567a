import type { Method } from '../api/operation.ts'

/** What stands in a path for the names that are declared in braces. */
export type Params = Readonly<Record<string, string>>

interface Route<To> {
  readonly segments: readonly Segment[]
  /** Whether a slash at the end makes another path of it. */
  readonly isStrict: boolean
  readonly methods: readonly string[]
  readonly to: To
}

/** A part of a declared path between two slashes; `name` where a request says what stands there. */
interface Segment {
  readonly text: string
  readonly name: string | undefined
}

/** What a request asks for, by its path: the first that was added and matches. */
export class Routes<To> {
  /** By how many segments they have and by the one that says which resource it is, so that few are compared. */
  readonly #byResource = new Map<string, Route<To>[]>()

  /** @param path with names in braces, each of which stands for a whole segment that is not empty */
  add(method: Method, path: string, to: To, isStrict = false): void {
    const segments = path.split('/').map(text => ({ text, name: /^\{(\w+)\}$/.exec(text)?.[1] }))
    const methods = method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]
    const resource = resourceOf(path.split('/'))
    const routes = this.#byResource.get(resource) ?? []
    this.#byResource.set(resource, routes)
    routes.push({ segments, isStrict, methods, to })
  }

  find(method: string, path: string): { readonly to: To; readonly params: Params } | undefined {
    const given = path.split('/')
    for (const route of this.#byResource.get(resourceOf(given)) ?? [])
      if (route.methods.includes(method) && isAt(route, given))
        return { to: route.to, params: paramsOf(route, given) }
    return undefined
  }

  /** Which methods a path takes; none where there is nothing. */
  methodsAt(path: string): string[] {
    const given = path.split('/')
    const routes = this.#byResource.get(resourceOf(given)) ?? []
    return [...new Set(routes.filter(route => isAt(route, given)).flatMap(({ methods }) => methods))]
  }
}

/** The first segment of a path, or the one after /v1, and how many there are; a slash at the end is none. */
function resourceOf(segments: readonly string[]): string {
  const count = segments.at(-1) === '' ? segments.length - 1 : segments.length
  return `${segments[1] === 'v1' ? segments[2] : segments[1]} ${count}`
}

function isAt<To>({ segments, isStrict }: Route<To>, given: readonly string[]): boolean {
  if (isStrict && given.length !== segments.length) return false
  return segments.every(({ text, name }, index) =>
    name === undefined ? text === given[index] : given[index] !== '',
  )
}

function paramsOf<To>({ segments }: Route<To>, given: readonly string[]): Params {
  const params: Record<string, string> = {}
  segments.forEach(({ name }, index) => {
    if (name !== undefined) params[name] = decoded(given[index]!)
  })
  return params
}

/** What is not encoded as it should be is taken as it stands: nothing has such a name. */
function decoded(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
