import type { Command } from 'commander'

/** The first words of all commands, and what each is for, in the order of the help: nothing need be loaded to tell them. */
export const words: Readonly<Record<string, string>> = {
  setup:
    'make a server of this machine: write the configuration, start mailboxd, make the first key and inbox, and print the DNS to publish. It asks on a terminal for what no option says. What is there already is kept, so it may be run again',
  status:
    'show whether mailboxd is up and since when, its doors, queue, disk, certificate, domains and last mail',
  key: 'API keys',
  pod: 'tenants; every command takes a pod by its id or clientId',
  inbox: 'inboxes; every command takes one by its id or address',
  message: 'mail that came and that was sent; every inbox by its id or address',
  thread: 'conversations',
  draft: 'messages that are not sent yet, or at a time',
  event: 'what happened, and how webhooks were told of it',
  policy: 'sender rules: who may write to inboxes, and to whom they may write',
  member: 'addresses of the organisation, to which mail can be forwarded without asking them',
  usage: 'what was sent and received, and what counts against which limit',
  account: 'the installation as its keys see it',
  domain: "mail domains; every command takes one by its name or id, most the account's own without one",
  dns: 'what others see of a domain',
  doctor:
    'look at the configuration, the machine, the database, the doors as others find them, block lists and the DNS of the account domain, and tell what to do; exit 0 when all is well, 1 with a warning, 2 with an error',
  queue: 'mail on its way out',
  node: 'the daemons of this installation: one, or several on one PostgreSQL',
  suppression: 'addresses that are not written to any more, because mail came back or somebody said so',
  webhook: "the account's webhook, or with --inbox that of an inbox, which is called in its place",
  feedback: 'what users of the API told you',
  tls: 'certificates',
  secrets: 'the secrets that are encrypted in the database',
  verify:
    'look whether all that was promised holds: queue, events, counters, files, integrity; exit 1 if not',
  compact:
    'write the database anew, while mailboxd is stopped: nothing that was deleted stays in its file, which becomes as small as it can; it needs as much room again meanwhile',
  backup:
    'write a backup of database, messages and keys, while mailboxd runs or not (tar, compressed by zstd, with checksums)',
  migrate:
    'move the rows (messages, queue, keys, events) to a PostgreSQL server or back into the file of the data directory, and large messages to a bucket or back, with mailboxd stopped; it compares everything and says what to set',
  restore: 'restore a backup into the data directory, which must be empty or missing; everything is verified',
  config: 'the configuration',
  completion: 'print the completion for a shell; the Debian package installs it',
}

/** The command of a first word, made when it is first asked for: several files may have commands below one. */
export function commandOf(program: Command, word: string): Command {
  const known = program.commands.find(one => one.name() === word)
  return known ?? program.command(word).description(words[word] ?? '')
}
