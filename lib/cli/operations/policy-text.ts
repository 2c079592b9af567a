import type { Policy } from '../../model/policy.ts'
import { tableOf } from '../output.ts'

/** The sender rules of a scope, for people: each direction with its mode, its rules and whether they were made here or at another level. */
export function textOfPolicy(policy: Policy): string {
  return (['inbound', 'outbound'] as const)
    .map(direction => {
      const { mode, lists, rules, inheritedRules } = policy[direction]
      const rows = [
        ...rules.map(rule => ({ ...rule, level: levelName(rule) })),
        ...inheritedRules.map(rule => ({ ...rule, level: levelName(rule) })),
      ]
      const head = `${direction}: mode ${mode}${lists.length > 0 ? `; allowlists: ${lists.map(levelName).join(', ')}` : ''}`
      return rows.length > 0
        ? `${head}\n${tableOf(rows, ['id', 'type', 'value', 'level'])}`
        : `${head}, no rules`
    })
    .join('\n\n')
}

function levelName({ scope, setBy }: { scope: string; setBy: string }): string {
  return `${scope}, by ${setBy} keys`
}
