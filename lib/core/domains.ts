import { Problem } from '../base/problem.ts'
import { generateDkimKey } from '../mail/dkim.ts'
import { type DomainRecord, domainRecords } from '../mail/records.ts'
import { findDomain, insertDomain } from '../store/domains.ts'
import type { App } from './app.ts'

const selector = 'mailboxd'

/** Makes the row of a domain, with a DKIM key of its own, unless it is there. `domain` is lower-case, A-label. */
export async function ensureDomain(app: App, domain: string): Promise<void> {
  if (await findDomain(app.store.read, domain)) return
  const key = await generateDkimKey()
  await app.store.write(async db => {
    if (await findDomain(db, domain)) return
    await insertDomain(db, {
      id: app.ids.next(),
      domain,
      podId: null,
      selector,
      dkimPrivateKey: key.privateKeyPem,
      dkimPublicKey: key.publicKeyBase64,
      createdAt: app.clock.now().toISOString(),
    })
  })
}

/** The DNS records that a domain of ours needs, as they are to be published. @throws Problem `not_found` */
export async function getDomainRecords(app: App, domain: string): Promise<DomainRecord[]> {
  const row = await findDomain(app.store.read, domain.toLowerCase())
  if (!row) throw new Problem('not_found', `${domain} is no domain of this server.`)
  return domainRecords({
    domain: row.domain,
    hostname: app.config.hostname,
    selector: row.selector,
    publicKeyBase64: row.dkimPublicKey,
  })
}

export { zoneFile } from '../mail/records.ts'
