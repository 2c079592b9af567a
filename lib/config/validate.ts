import { check } from './check.ts'
import { crossFaults } from './cross-check.ts'
import type { Fault } from './fault.ts'
import { faultOf } from './fault-text.ts'
import type { Config } from './schema.ts'

/** The configuration that `document` makes with the defaults filled in, or all that is wrong with it. Changes `document`. */
export function validate(document: Record<string, unknown>): { config: Config } | { faults: Fault[] } {
  const isValid = check(document)
  const faults = onePerPath((check.errors ?? []).map(faultOf))
  faults.push(...crossFaults(document, faults))
  // The objects of the TOML reader are not plain ones; those of the copy are.
  return isValid && faults.length === 0 ? { config: deepFreeze(structuredClone(document)) } : { faults }
}

function onePerPath(faults: readonly Fault[]): Fault[] {
  const seen = new Set<string>()
  return faults.filter(({ path }) => !seen.has(path) && seen.add(path))
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner)
  }
  return Object.freeze(value)
}
