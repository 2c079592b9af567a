import { Ajv } from 'ajv'
import { crossFaults } from './cross-check.ts'
import { durationFault, durationMs } from './duration.ts'
import type { Fault } from './fault.ts'
import { faultOf } from './fault-text.ts'
import { formats } from './format.ts'
import { type Config, settings } from './schema.ts'

// Our schema is tried against the meta-schema by a test, and its code runs once: optimising it costs more than it saves.
const ajv = new Ajv({
  allErrors: true,
  useDefaults: true,
  verbose: true,
  validateSchema: false,
  code: { optimize: false },
})
ajv.addVocabulary(['local', 'unit'])
ajv.addKeyword({
  keyword: 'between',
  type: 'string',
  schemaType: 'array',
  validate: ([least, most]: [string, string], text: string) => {
    // What is no duration at all is the format's to say.
    if (durationFault(text) !== undefined) return true
    return durationMs(text) >= durationMs(least) && durationMs(text) <= durationMs(most)
  },
})
for (const [name, { fault }] of Object.entries(formats)) {
  ajv.addFormat(name, text => fault(text) === undefined)
}
const check = ajv.compile<Config>(settings)

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
