import type { Command } from 'commander'
import type { Ctl } from './ctl.ts'
import { commandOf, words } from './words.ts'

/** Declares the commands of one file. @param word the first word of those that are meant; without one, all */
type Add = (program: Command, ctl: Ctl, word?: string) => void

/** The words of which some commands are operations. */
const ofOperations = [
  'pod',
  'inbox',
  'message',
  'thread',
  'draft',
  'event',
  'policy',
  'member',
  'usage',
  'account',
]

/**
 * Every file of commands, with the first words that lead there. One is loaded when a word of it is called:
 * to load them all takes longer than any of them works.
 */
const files: readonly (readonly [words: readonly string[], load: () => Promise<Add>])[] = [
  [['setup'], async () => (await import('./setup.ts')).addSetupCommand],
  [['status'], async () => (await import('./status.ts')).addStatusCommand],
  [['key'], async () => (await import('./key.ts')).addKeyCommands],
  [ofOperations, async () => (await import('./operations/commands.ts')).addOperationCommands],
  [['inbox'], async () => (await import('./inbox.ts')).addInboxCommands],
  [['message'], async () => (await import('./message.ts')).addMessageCommands],
  [['message'], async () => (await import('./message-log.ts')).addMessageLogCommand],
  [['domain'], async () => (await import('./domain.ts')).addDomainCommands],
  [['dns'], async () => (await import('./dns.ts')).addDnsCommands],
  [['doctor'], async () => (await import('./doctor.ts')).addDoctorCommand],
  [['queue'], async () => (await import('./queue.ts')).addQueueCommands],
  [['node'], async () => (await import('./node.ts')).addNodeCommands],
  [['suppression'], async () => (await import('./suppression.ts')).addSuppressionCommands],
  [['webhook'], async () => (await import('./webhook.ts')).addWebhookCommands],
  [['event'], async () => (await import('./event.ts')).addEventCommands],
  [['feedback'], async () => (await import('./feedback.ts')).addFeedbackCommands],
  [['tls'], async () => (await import('./tls.ts')).addTlsCommands],
  [['secrets'], async () => (await import('./secrets.ts')).addSecretsCommands],
  [['verify'], async () => (await import('./verify.ts')).addVerifyCommand],
  [['compact'], async () => (await import('./compact.ts')).addCompactCommand],
  [['backup', 'restore'], async () => (await import('./backup.ts')).addBackupCommands],
  [['migrate'], async () => (await import('./migrate.ts')).addMigrateCommand],
  [['config'], async () => (await import('./config.ts')).addConfigCommands],
  [['completion'], async () => (await import('./completion.ts')).addCompletionCommand],
]

/**
 * Adds the commands of the files that `word` leads to. Without one, and for one that leads nowhere and is to be told what is near, each
 * word alone: what stands below it is told when it is called.
 */
export async function addCommands(program: Command, ctl: Ctl, word?: string): Promise<void> {
  const meant = files.filter(([leading]) => leading.some(one => one === word))
  if (meant.length === 0) for (const one of Object.keys(words)) commandOf(program, one)
  await load(program, ctl, meant, word)
}

/** Adds all commands. */
export async function addAllCommands(program: Command, ctl: Ctl): Promise<void> {
  for (const one of Object.keys(words)) commandOf(program, one)
  await load(program, ctl, files)
}

async function load(program: Command, ctl: Ctl, some: typeof files, word?: string): Promise<void> {
  const adds = await Promise.all(some.map(([, add]) => add()))
  for (const add of adds) add(program, ctl, word)
}
