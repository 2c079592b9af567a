import { BackupFault } from '../../base/faults.ts'
import { randomBase62 } from '../../base/secrets.ts'
import { normaliseDomain } from '../../mail/address/address.ts'
import { findAccount, insertAccount } from '../../store/account.ts'
import { isAddressUsed } from '../../store/inboxes.ts'
import { isHalfCopied } from '../../store/moving/copy.ts'
import { findDefaultPod, insertPod } from '../../store/pods.ts'
import type { App } from '../app/app.ts'
import { sealInWrite, secretOf } from '../app/secrets.ts'
import { ensureDomain } from '../domains/domains.ts'
import { systemAddress } from '../domains/usable.ts'
import { insertInbox } from './inboxes.ts'

/**
 * Makes what every installation has, where it is missing: the account, its default pod, its mail domain with a DKIM
 * key, and the inbox of postmaster and abuse.
 * @throws BackupFault if rows were being moved into this database and are not all there
 */
export async function ensureInstallation(app: App): Promise<void> {
  const domain = normaliseDomain(app.config.account_domain)
  if (domain === undefined) throw new Error(`account_domain is no domain: ${app.config.account_domain}`)
  if (await isHalfCopied(app.store.read))
    throw new BackupFault(
      'not all rows are in this database, because mailboxctl migrate was cut off: put `database` in the configuration back as it was, drop this database, make it again, and run mailboxctl migrate again',
    )
  await ensureDomain(app, domain)
  await app.store.write(async db => {
    const createdAt = app.clock.now().toISOString()
    if (!(await findAccount(db))) {
      const id = app.ids.next()
      await insertAccount(db, {
        id,
        signingSecret: await sealInWrite(db, app.secrets, secretOf.accountSigning(id), randomBase62(43)),
        podCount: 0,
        inboxCount: 0,
        createdAt,
        webhookUrl: null,
        webhookSecret: null,
        healthAt: null,
      })
      await insertPod(db, {
        id: app.ids.next(),
        clientId: null,
        name: null,
        isDefault: 1,
        inboxCount: 0,
        createdAt,
      })
    }
    const pod = await findDefaultPod(db)
    const address = systemAddress(app)
    if (pod && !(await isAddressUsed(db, address))) {
      await insertInbox(app, db, { podId: pod.id, address, displayName: null, isSystem: true })
    }
  })
}
