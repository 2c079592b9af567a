import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../base/package-root.ts'
import { Problem } from '../base/problem.ts'
import { randomBase36 } from '../base/secret.ts'

const form = /^[a-z0-9]([a-z0-9._-]{1,28})[a-z0-9]$/
const randomLength = 8

let reserved: ReadonlySet<string> | undefined

/** The local part of a new inbox, lower-case. @throws Problem `invalid_mailbox_name` */
export function requireMailboxName(text: string): string {
  const name = text.toLowerCase()
  if (!form.test(name) || name.includes('..')) throw new Problem('invalid_mailbox_name')
  return name
}

/** Whether the name is one of config/reserved-names.txt, which no inbox gets. */
export function isReservedName(name: string): boolean {
  reserved ??= readReservedNames()
  return reserved.has(name)
}

function readReservedNames(): ReadonlySet<string> {
  const lines = readFileSync(join(packageRoot(), 'config', 'reserved-names.txt'), 'utf8').split('\n')
  return new Set(lines.map(line => line.replace(/#.*/, '').trim().toLowerCase()).filter(line => line !== ''))
}

/** Eight characters of a-z0-9, without bias. */
export function randomMailboxName(): string {
  return randomBase36(randomLength)
}
