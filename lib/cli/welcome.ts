import { join } from 'node:path'
import { packageRoot } from '../base/package-root.ts'
import { shellWord } from '../base/text.ts'
import { findFirstInbox, firstMailboxName } from '../core/account/first-inbox.ts'
import { createInbox } from '../core/account/inboxes.ts'
import { createKey, listAllKeys } from '../core/account/keys.ts'
import type { App } from '../core/app/app.ts'
import { operator } from '../core/app/caller.ts'

/** Where a daemon in local mode is reached. */
export interface LocalEndpoints {
  /** "address:port" */
  readonly smtp: string
  /** The same, of submission. */
  readonly submission: string
  /** The base address of the API. */
  readonly baseUrl: string
}

/** What can be pasted, wherever this package is and whatever directory it is pasted in. */
const ctlOf = ({ config }: App) =>
  `${shellWord(join(packageRoot(), 'bin', 'mailboxctl'))} --data ${shellWord(config.data_dir)}`

/**
 * What a start in local mode tells. Where there is no key yet it makes the first one, and the first inbox: a start that failed, or was
 * ended early, has made neither.
 */
export async function welcome(app: App, endpoints: LocalEndpoints): Promise<string> {
  const hasKey = (await listAllKeys(app, 1)).length > 0
  return hasKey ? welcomeBack(app, endpoints) : welcomeFirst(app, endpoints)
}

/** The key is shown this once. */
async function welcomeFirst(app: App, { smtp, submission, baseUrl }: LocalEndpoints): Promise<string> {
  const inbox =
    (await findFirstInbox(app)) ??
    (await createInbox(app, operator, { mailboxName: firstMailboxName, displayName: 'Hello' }))
  const ctl = ctlOf(app)
  const { token } = await createKey(app, operator, { account: true }, 'first key')
  return `
mailboxd runs in local mode: loopback only, data in ${app.config.data_dir}.
Mail to addresses that are not of ${app.config.account_domain} is captured: shown as sent, and never leaves this machine.

  SMTP     ${smtp}
  sending  ${submission}  (SMTP with STARTTLS: the inbox is the user, the key its password)
  API      ${baseUrl}/v1  (read about it at ${baseUrl}/docs)
  inbox    ${inbox.address}
  key      ${token}  (shown this once; ${ctl} key create makes another)

Paste into a shell of yours:

  export API=${baseUrl}/v1 INBOX=${inbox.id} KEY=${token}

Send a mail to the inbox:

  printf 'From: Ann <ann@example.com>\\nTo: ${inbox.address}\\nSubject: Hi\\n\\nAre you there?\\n' | curl -sS --crlf smtp://${smtp}/example.com --mail-from ann@example.com --mail-rcpt ${inbox.address} -T - && echo 'taken in for ${inbox.address}'

List its messages:

  curl -sS $API/inboxes/$INBOX/messages -H "Authorization: Bearer $KEY"

Reply to the newest one:

  THREAD=$(curl -sS "$API/inboxes/$INBOX/threads?limit=1" -H "Authorization: Bearer $KEY" | sed 's/.*"data":\\[{"id":"\\([^"]*\\).*/\\1/')
  curl -sS $API/inboxes/$INBOX/send -H "Authorization: Bearer $KEY" -H "Idempotency-Key: answer-$THREAD" -H 'Content-Type: application/json' -d '{"to":"ann@example.com","threadId":"'$THREAD'","body":"Yes, I am."}'

`
}

/** What later starts say: the same, but for the key, of which nothing is kept that could be shown. */
async function welcomeBack(app: App, { smtp, submission, baseUrl }: LocalEndpoints): Promise<string> {
  const inbox = await findFirstInbox(app)
  const ctl = ctlOf(app)
  return `
mailboxd runs in local mode: loopback only, data in ${app.config.data_dir}.

  SMTP     ${smtp}
  sending  ${submission}  (SMTP with STARTTLS: the inbox is the user, the key its password)
  API      ${baseUrl}/v1  (read about it at ${baseUrl}/docs)
  inboxes  ${ctl} inbox list

Paste into a shell of yours:

  export API=${baseUrl}/v1${inbox ? ` INBOX=${inbox.id}` : ''}

The key was shown at the first start. This makes another:

  export KEY=$(${ctl} --json key create | sed -n 's/.*"token": *"\\([^"]*\\)".*/\\1/p')

`
}
