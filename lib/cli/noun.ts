import type { Command } from 'commander'

/** What each noun is that several files have commands of, the operations among them. */
export const nouns: Readonly<Record<string, string>> = {
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
}

/** The command of a noun, made when it is first asked for. */
export function nounOf(program: Command, noun: string): Command {
  const known = program.commands.find(one => one.name() === noun)
  return known ?? program.command(noun).description(nouns[noun] ?? '')
}
