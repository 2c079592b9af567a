import type { Policy } from '../../model/policy.ts'
import { tableOf } from '../output.ts'

/** The sender rules of a level, for people: each direction with its mode, its rules and those of other levels. */
export function textOfPolicy(policy: Policy): string {
  return (['inbound', 'outbound'] as const)
    .map(direction => {
      const { mode, effectiveMode, rules, inheritedRules } = policy[direction]
      const rows = [
        ...rules.map(rule => ({ ...rule, set: 'here' })),
        ...inheritedRules.map(rule => ({ ...rule, set: 'elsewhere' })),
      ]
      const isListElsewhere = mode !== 'allowlist' && effectiveMode === 'allowlist'
      const head = `${direction}: mode ${mode}${isListElsewhere ? ' (another level has an allowlist)' : ''}`
      return rows.length > 0
        ? `${head}\n${tableOf(rows, ['id', 'type', 'value', 'set'])}`
        : `${head}, no rules`
    })
    .join('\n\n')
}
