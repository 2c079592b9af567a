import type { Command } from 'commander'
import { operator } from '../core/app/caller.ts'
import { listAudit } from '../core/policy/audit.ts'
import {
  addPolicyRule,
  changePolicyMode,
  deleteRule,
  getPolicy,
  type NamedScope,
} from '../core/policy/rules.ts'
import type { Policy, PolicyDirection, PolicyMode, RuleType } from '../model/policy.ts'
import type { Ctl } from './ctl.ts'
import { fieldsOf, tableOf } from './output.ts'
import { wholeNumber } from './whole-number.ts'

const directions = ['inbound', 'outbound']

/** Adds the options that name a scope. */
const scoped = (command: Command) =>
  command
    .option('--pod <id>', 'of this pod (by id or clientId), and not of the account')
    .option('--inbox <id>', 'of this inbox (by id or address), and not of the account')

const directed = (command: Command) =>
  command.addOption(
    command.createOption('--direction <word>', 'of mail').choices(directions).makeOptionMandatory(),
  )

function textOf(policy: Policy): string {
  return (['inbound', 'outbound'] as const)
    .map(direction => {
      const { mode, effectiveMode, rules, inheritedRules } = policy[direction]
      const rows = [
        ...rules.map(rule => ({ ...rule, set: 'here' })),
        ...inheritedRules.map(rule => ({ ...rule, set: 'above' })),
      ]
      const head = `${direction}: ${mode}${mode === effectiveMode ? '' : ` (in force: ${effectiveMode})`}`
      return rows.length > 0 ? `${head}\n${tableOf(rows, ['id', 'type', 'value', 'set'])}` : head
    })
    .join('\n\n')
}

export function addPolicyCommands(program: Command, ctl: Ctl): void {
  const policy = program
    .command('policy')
    .description('sender rules: who may write to inboxes, and to whom they may write')

  scoped(policy.command('get').description('show the rules')).action(async (named: NamedScope) => {
    const found = await ctl.withApp(app => getPolicy(app, operator, named))
    ctl.output().say(found, () => textOf(found))
  })

  directed(scoped(policy.command('mode').description('set the mode: none, allowlist or inherit')))
    .addArgument(policy.createArgument('<mode>').choices(['none', 'allowlist', 'inherit']))
    .action(async (mode: PolicyMode, options: NamedScope & { direction: PolicyDirection }) => {
      const { direction, ...named } = options
      const changed = await ctl.withApp(app => changePolicyMode(app, operator, named, { mode, direction }))
      ctl.output().say(changed, () => textOf(changed))
    })

  directed(scoped(policy.command('add').description('add a rule')))
    .addArgument(policy.createArgument('<type>').choices(['allow', 'block']))
    .argument('<value>', 'an address, example.com, or *.example.com with its subdomains')
    .action(async (type: RuleType, value: string, options: NamedScope & { direction: PolicyDirection }) => {
      const { direction, ...named } = options
      const made = await ctl.withApp(app => addPolicyRule(app, operator, named, { type, value, direction }))
      ctl.output().say(made, () => fieldsOf(made))
    })

  policy
    .command('remove')
    .description('remove a rule, wherever it was made')
    .argument('<id>')
    .action(async (id: string) => {
      await ctl.withApp(app => deleteRule(app, operator, {}, id))
      ctl.output().say({ removed: id }, () => `removed ${id}`)
    })

  scoped(policy.command('audit').description('list changes and refusals, newest first'))
    .option('--limit <n>', 'how many', wholeNumber, 100)
    .option('--offset <n>', 'how many to skip', wholeNumber, 0)
    .action(async ({ limit, offset, ...named }: NamedScope & { limit: number; offset: number }) => {
      const page = { limit, offset }
      const { rows, total } = await ctl.withApp(app => listAudit(app, operator, named, {}, page))
      const columns = ['createdAt', 'action', 'direction', 'address', 'reason', 'mode', 'type', 'value']
      ctl
        .output()
        .say({ data: rows, total }, () => (rows.length > 0 ? tableOf(rows, columns) : 'nothing happened yet'))
    })
}
