import type { App } from '../../lib/core/app/app.ts'
import { composeConfirmationMail } from '../../lib/core/forwarding/question.ts'

/** The link in the newest mail that asks an address, as it would be carried now. */
export async function mailedLink(app: App, address: string): Promise<string> {
  const message = await app.store.read
    .selectFrom('message')
    .selectAll()
    .where('toAddr', '=', address)
    .where('direction', '=', 'outbound')
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow()
  const content = await composeConfirmationMail(app, message)
  if (content?.kind !== 'memory') throw new Error(`${address} is not asked any more`)
  return linkIn(content.bytes)
}

/** The link in the text part of a mail that asks for consent. */
export function linkIn(raw: Buffer): string {
  const text = raw.toString().replaceAll('=\r\n', '').replaceAll('=3D', '=')
  return /^\S*\/forwarding\/confirm\?token=\S+/m.exec(text)![0]
}
