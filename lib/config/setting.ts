import Type from 'typebox'
import type { FormatName } from './format.ts'

/**
 * What stands with every setting besides its type. `default` is what holds when a configuration file leaves it
 * out, `local` what local mode (no file) has instead, `examples[0]` stands in the example where there is no default.
 */
export type Meaning = {
  readonly description: string
  readonly default?: unknown
  readonly local?: unknown
  readonly examples?: readonly unknown[]
}

export type Bounds = {
  readonly minimum: number
  readonly maximum: number
  /** What the number counts, for people. */
  readonly unit?: string
}

export const flag = (meaning: Meaning & { default: boolean }) => Type.Boolean(meaning)
export const number = (meaning: Meaning & Bounds & { default: number }) => Type.Integer(meaning)
export const text = (format: FormatName, meaning: Meaning) => Type.String({ format, ...meaning })
export const duration = (
  between: readonly [least: string, most: string],
  meaning: Meaning & { default: string },
) => Type.String({ format: 'duration', between, ...meaning })
export const list = (
  format: FormatName,
  minItems: 0 | 1,
  meaning: Meaning & { default: readonly string[] },
) =>
  Type.Array(Type.String({ format }), {
    minItems,
    maxItems: 100,
    // The same wait may come twice; the same address or network is a slip.
    uniqueItems: format !== 'duration',
    ...meaning,
  })

/** A list of tables, each of which has all of these settings: `[[table.name]]`. */
export function tableList<const Settings extends Type.TProperties>(meaning: Meaning, settings: Settings) {
  return Type.Array(Type.Object(settings, { additionalProperties: false }), {
    maxItems: 100,
    default: [],
    ...meaning,
  })
}

/** A table of settings. */
export function table<const Settings extends Type.TProperties>(description: string, settings: Settings) {
  return Type.Object(settings, { additionalProperties: false, default: {}, description })
}
