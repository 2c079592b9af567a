import type { Command } from 'commander'
import { changeInbox, getInbox } from '../core/account/inboxes.ts'
import type { App } from '../core/app/app.ts'
import { operator } from '../core/app/caller.ts'
import { testAccountWebhook, testInboxWebhook } from '../core/webhooks/call.ts'
import { countCalls } from '../core/webhooks/log.ts'
import {
  deleteAccountWebhook,
  getAccountWebhook,
  getWebhookUrl,
  rotateAccountSecret,
  rotateInboxSecret,
  setAccountWebhook,
} from '../core/webhooks/settings.ts'
import type { AccountWebhook } from '../model/webhook.ts'
import { confirm } from './confirm.ts'
import type { Ctl } from './ctl.ts'
import { fieldsOf } from './output.ts'
import { commandOf } from './words.ts'

/** What a command does, with the account's webhook or with that of an inbox. */
interface Ways<T> {
  account(app: App): Promise<T>
  inbox(app: App, id: string): Promise<T>
}

export function addWebhookCommands(program: Command, ctl: Ctl): void {
  const webhook = commandOf(program, 'webhook')

  const command = (name: string, description: string) =>
    webhook
      .command(name)
      .description(description)
      .option('--inbox <id>', 'of this inbox, by id or address (default: the account)')
  const run = <T>(inbox: string | undefined, ways: Ways<T>) =>
    ctl.withApp(app => (inbox === undefined ? ways.account(app) : ways.inbox(app, inbox)))
  const say = (found: AccountWebhook) => ctl.output().say(found, () => fieldsOf(found))

  command('show', 'show its URL').action(async ({ inbox }: { inbox?: string }) =>
    say(
      await run(inbox, {
        account: getAccountWebhook,
        inbox: async (app, id) => ({ url: (await getInbox(app, operator, id)).webhookUrl }),
      }),
    ),
  )

  command('set', 'set its URL; the first time, the secret that calls are signed with is printed')
    .argument('<url>')
    .action(async (url: string, { inbox }: { inbox?: string }) =>
      say(
        await run(inbox, {
          account: app => setAccountWebhook(app, url),
          inbox: (app, id) => setInboxWebhook(app, id, url),
        }),
      ),
    )

  command('delete', 'take it away')
    .option('--yes', 'do not ask')
    .action(async ({ inbox, yes }: { inbox?: string; yes?: boolean }) => {
      const url = await ctl.withRows(rows => getWebhookUrl(rows, operator, inbox))
      if (yes !== true) {
        const secret =
          inbox === undefined ? 'its secret is gone for good' : 'its secret stays for one that is set later'
        await confirm(`${url} is called no more, and ${secret}.`)
      }
      await run(inbox, {
        account: deleteAccountWebhook,
        inbox: async (app, id) => {
          await setInboxWebhook(app, id, null)
        },
      })
      ctl.output().say({ deleted: inbox ?? 'account' }, () => 'deleted')
    })

  command('rotate-secret', 'make a new secret; the former one is worth nothing from the next call on')
    .option('--yes', 'do not ask')
    .action(async ({ inbox, yes }: { inbox?: string; yes?: boolean }) => {
      if (yes !== true) {
        const { url, waiting } = await ctl.withRows(async rows => ({
          url: await getWebhookUrl(rows, operator, inbox),
          waiting: await countCalls(rows, operator, inbox),
        }))
        await confirm(
          `Of ${url}, ${waiting} calls that are to be made yet, and all after them, are signed with the new secret: whoever is called refuses them until it has it.`,
        )
      }
      say(
        await run(inbox, {
          account: rotateAccountSecret,
          inbox: async (app, id) => {
            const { webhookSecret } = await rotateInboxSecret(app, operator, id)
            return { url: (await getInbox(app, operator, id)).webhookUrl, secret: webhookSecret }
          },
        }),
      )
    })

  command('test', 'call it with an event webhook.test, from this machine, once').action(
    async ({ inbox }: { inbox?: string }) => {
      const done = await run(inbox, {
        account: testAccountWebhook,
        inbox: (app, id) => testInboxWebhook(app, operator, id),
      })
      ctl.output().say(done, () => done.message)
    },
  )
}

async function setInboxWebhook(app: App, id: string, url: string | null): Promise<AccountWebhook> {
  const { webhookUrl, webhookSecret } = await changeInbox(app, operator, id, { webhookUrl: url })
  return { url: webhookUrl, ...(webhookSecret === undefined ? {} : { secret: webhookSecret }) }
}
