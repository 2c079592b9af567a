import type { Command } from 'commander'
import type { Ctl } from './ctl.ts'
import { nouns } from './noun.ts'

/** Declares the commands of one file, or of one noun. */
type Add = (program: Command, ctl: Ctl) => void

/**
 * Every file of commands, with the first words that lead there, in the order of the help. One is loaded when a word of it is called:
 * to load them all takes longer than any of them works.
 */
const files: readonly (readonly [words: readonly string[], load: () => Promise<Add>])[] = [
  [['setup'], async () => (await import('./setup.ts')).addSetupCommand],
  [['status'], async () => (await import('./status.ts')).addStatusCommand],
  [['key'], async () => (await import('./key.ts')).addKeyCommands],
  [Object.keys(nouns), async () => (await import('./operations/commands.ts')).addOperationCommands],
  [['inbox'], async () => (await import('./inbox.ts')).addInboxCommands],
  [['message'], async () => (await import('./message.ts')).addMessageCommands],
  [['message'], async () => (await import('./message-log.ts')).addMessageLogCommand],
  [['domain'], async () => (await import('./domain.ts')).addDomainCommands],
  [['dns'], async () => (await import('./dns.ts')).addDnsCommands],
  [['doctor'], async () => (await import('./doctor.ts')).addDoctorCommand],
  [['queue'], async () => (await import('./queue.ts')).addQueueCommands],
  [['suppression'], async () => (await import('./suppression.ts')).addSuppressionCommands],
  [['webhook'], async () => (await import('./webhook.ts')).addWebhookCommands],
  [['event'], async () => (await import('./event.ts')).addEventCommands],
  [['feedback'], async () => (await import('./feedback.ts')).addFeedbackCommands],
  [['tls'], async () => (await import('./tls.ts')).addTlsCommands],
  [['secrets'], async () => (await import('./secrets.ts')).addSecretsCommands],
  [['verify'], async () => (await import('./verify.ts')).addVerifyCommand],
  [['compact'], async () => (await import('./compact.ts')).addCompactCommand],
  [['backup', 'restore'], async () => (await import('./backup.ts')).addBackupCommands],
  [['config'], async () => (await import('./config.ts')).addConfigCommands],
  [['completion'], async () => (await import('./completion.ts')).addCompletionCommand],
]

/** Words that read all commands, and are no part of the others. */
const readsAll = ['completion', 'help']

/**
 * Adds the commands of the files that `word` leads to; all of them without one, or for one that leads nowhere and is to be told
 * what is near.
 */
export async function addCommands(program: Command, ctl: Ctl, word?: string): Promise<void> {
  const meant = files.filter(([words]) => words.some(one => one === word))
  const isAll = meant.length === 0 || readsAll.includes(word!)
  const adds = await Promise.all((isAll ? files : meant).map(([, load]) => load()))
  for (const add of adds) add(program, ctl)
}
