import { stripTypeScriptTypes } from 'node:module'
import { type AnyNode, parse } from 'acorn'

/** All nodes of the syntax of a TypeScript source. Its types become spaces, so each stands where it stands in the source. */
export function nodesOf(source: string): Generator<AnyNode> {
  return nodesIn(
    parse(stripTypeScriptTypes(source), { ecmaVersion: 'latest', sourceType: 'module', locations: true }),
  )
}

function* nodesIn(value: unknown): Generator<AnyNode> {
  if (typeof value !== 'object' || value === null) return
  if ('type' in value && typeof value.type === 'string') yield value as AnyNode
  for (const inner of Object.values(value)) yield* nodesIn(inner)
}
