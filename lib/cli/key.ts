import type { Command } from 'commander'
import { invalidRequest } from '../base/problem.ts'
import { createKey, getAnyKey, type KeyTarget, listAllKeys, revokeAnyKey } from '../core/account/keys.ts'
import { operator } from '../core/app/caller.ts'
import { confirm } from './confirm.ts'
import type { Ctl } from './ctl.ts'
import { fieldsOf, tableOf } from './output.ts'
import { wholeNumber } from './whole-number.ts'
import { commandOf } from './words.ts'

interface Target {
  pod?: string
  inbox?: string
}

export function addKeyCommands(program: Command, ctl: Ctl): void {
  const key = commandOf(program, 'key')

  key
    .command('create')
    .description('make a key for the whole account, a pod or an inbox; its token is shown this once')
    .option('--name <text>', 'a label')
    .option('--pod <id>', 'a pod (id or clientId) that the key is confined to')
    .option('--inbox <id>', 'an inbox (id or address) that the key is confined to')
    .action(async (options: Target & { name?: string }) => {
      const made = await ctl.withRows(rows =>
        createKey(rows, operator, targetOf(options), options.name ?? null),
      )
      ctl.output().say(made, () => fieldsOf(made))
    })

  key
    .command('list')
    .description('list the active keys, oldest first')
    .option('--limit <n>', 'how many', wholeNumber, 100)
    .option('--after <id>', 'those after the key with this id')
    .action(async (options: { limit: number; after?: string }) => {
      const keys = await ctl.withRows(rows => listAllKeys(rows, options.limit, options.after))
      const columns = ['id', 'name', 'scope', 'last4']
      ctl.output().say({ data: keys }, () => tableOf(keys.map(withScope), columns))
    })

  key
    .command('revoke')
    .description('revoke a key; it is refused from then on')
    .argument('<id>')
    .option('--yes', 'do not ask')
    .action(async (id: string, { yes }: { yes?: boolean }) => {
      if (yes !== true) {
        const { name, last4, scope, lastUsedAt } = withScope(await ctl.withRows(rows => getAnyKey(rows, id)))
        const use = lastUsedAt === null ? 'it was never used' : `it was used last at ${lastUsedAt}`
        await confirm(
          `It is ${name === null ? 'a key without a name' : `"${name}"`} (…${last4}, ${scope}); ${use}. Whoever has it is refused from then on, and it is never given back.`,
        )
      }
      await ctl.withRows(rows => revokeAnyKey(rows, id))
      ctl.output().say({ revoked: id }, () => `revoked ${id}`)
    })
}

/** What a key reaches, in a word and an id. */
function withScope<T extends { podId: string | null; inboxId: string | null }>(
  key: T,
): T & { scope: string } {
  const { podId, inboxId } = key
  return {
    ...key,
    scope: inboxId !== null ? `inbox ${inboxId}` : podId !== null ? `pod ${podId}` : 'account',
  }
}

function targetOf({ pod, inbox }: Target): KeyTarget {
  if (pod !== undefined && inbox !== undefined) {
    throw invalidRequest('', 'Give --pod or --inbox, not both')
  }
  if (pod !== undefined) return { pod }
  if (inbox !== undefined) return { inbox }
  return { account: true }
}
