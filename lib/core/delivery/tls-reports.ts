import { isoAfter } from '../../base/time.ts'
import { domainOf } from '../../mail/address/address.ts'
import { signDkim } from '../../mail/compose/dkim.ts'
import { formatMessageId } from '../../mail/compose/message-id.ts'
import { writeStsPolicy } from '../../mail/domain/mta-sts.ts'
import {
  readReportAddresses,
  type TlsReport,
  type TlsReportPolicy,
  tlsReportMail,
  tlsReportNames,
  tlsReportText,
} from '../../mail/report/tls-report.ts'
import { findInboxByAddress } from '../../store/inboxes.ts'
import { insertRaw } from '../../store/raws.ts'
import { findStsPolicy } from '../../store/sts-policies.ts'
import type { TlsResultRow } from '../../store/tables.ts'
import {
  listReportRecipients,
  listTlsResults,
  listUnreported,
  setTlsResultsReported,
} from '../../store/tls-results.ts'
import type { App } from '../app/app.ts'
import { systemAddress } from '../domains/usable.ts'
import { keepBytes } from '../mailbox/raws.ts'
import { countOutgoing, signerOf, writeOutgoing } from '../outbound/composing.ts'
import { storedAttachment } from '../outbound/request.ts'
import { stsPolicyOf } from './sts-policies.ts'

/** Addresses that a TLS report goes to. */
const tlsReportAddresses = 5
/** A domain may name anybody for its reports: how many go to one address a day, and to all addresses of one domain, whoever names them. */
export const tlsReportsToAddress = 10
export const tlsReportsToDomain = 100
const tlsReportsAtOnce = 20

/**
 * Tells the domains that ask for it how TLS with them went on days that are over (RFC 8460), in mails of postmaster; gives how
 * many days of domains are done with. One about which DNS says nothing waits for a day.
 */
export async function sendTlsReports(app: App): Promise<number> {
  if (!app.config.delivery.tls_reports || app.config.delivery.mode === 'capture') return 0
  const today = app.clock.now().toISOString().slice(0, 10)
  const room = new ReportRoom(await listReportRecipients(app.store.read, `${today}T00:00:00.000Z`))
  let done = 0
  for (const one of await listUnreported(app.store.read, today, tlsReportsAtOnce)) {
    const addresses = await findAddresses(app, one.domain)
    const isLate = one.day < isoAfter(app.clock.now(), -2 * 86_400_000).slice(0, 10)
    if (addresses === undefined && !isLate) continue
    const to = (addresses ?? []).filter(address => room.take(address))
    const left = (addresses ?? []).filter(address => !to.includes(address))
    if (left.length > 0) app.log.info({ ...one, left }, 'TLS report not sent: they get enough today')
    await report(app, one, to)
    done++
  }
  return done
}

/**
 * RFC 8460 has nothing by which an address agrees to get reports, as DMARC has (RFC 7489 §7.1), so a stranger with many domains
 * could have them all sent to somebody. What two processes send at once may be some more.
 */
class ReportRoom {
  readonly #counts = new Map<string, number>()

  constructor(recipients: readonly string[]) {
    for (const address of recipients) this.#count(address)
  }

  /** Whether one more may go to the address today. */
  take(address: string): boolean {
    const has = (key: string, most: number) => (this.#counts.get(key) ?? 0) < most
    const name = address.toLowerCase()
    const may = has(name, tlsReportsToAddress) && has(domainOf(name), tlsReportsToDomain)
    if (may) this.#count(name)
    return may
  }

  #count(address: string): void {
    const name = address.toLowerCase()
    for (const key of [name, domainOf(name)]) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
  }
}

/** Whom reports go to; undefined: DNS does not say. */
async function findAddresses(app: App, domain: string): Promise<string[] | undefined> {
  try {
    const texts = await app.dns.resolveTxt(`_smtp._tls.${domain}`)
    return readReportAddresses(
      texts.map(strings => strings.join('')),
      tlsReportAddresses,
    )
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return code === 'ENOTFOUND' || code === 'ENODATA' || code === 'EBADNAME' ? [] : undefined
  }
}

/** Notes the day as reported and puts the mail into the queue in one write, so that of two processes one reports. */
async function report(app: App, one: { day: string; domain: string }, to: readonly string[]): Promise<void> {
  const at = app.clock.now()
  const rows = await listTlsResults(app.store.read, one.day, one.domain)
  const policy = await findPolicyOfDay(app, one)
  const mail = to.length === 0 ? undefined : await compose(app, { ...one, rows, policy, to, date: at })
  const isOurs = await app.store.write(async db => {
    if (!(await setTlsResultsReported(db, one, at.toISOString()))) return false
    await mail?.(db)
    return true
  })
  if (mail && isOurs) app.log.info({ ...one, to }, 'TLS report queued')
}

async function compose(
  app: App,
  of: {
    readonly day: string
    readonly domain: string
    readonly rows: readonly TlsResultRow[]
    readonly policy: TlsReportPolicy['policy']
    readonly to: readonly string[]
    readonly date: Date
  },
) {
  const { day, domain, to, date } = of
  const from = systemAddress(app)
  const inbox = await findInboxByAddress(app.store.read, from)
  if (!inbox) throw new Error(`there is no inbox ${from}`)
  const id = app.ids.next()
  const rfcMessageId = formatMessageId(id, app.config.account_domain)
  const made: TlsReport = {
    id,
    domain,
    day,
    submitter: app.config.hostname,
    contact: from,
    policies: policiesOf(of.rows, of.policy),
  }
  const unsigned = tlsReportMail(made, { from, to, date, messageId: rfcMessageId })
  const raw = await signDkim(unsigned, await signerOf(app, from, date))
  const rawId = app.ids.next()
  const kept = await keepBytes(app, rawId, [raw])
  const { file, subject } = tlsReportNames(made)
  const people = to.map(address => ({ address, name: '' }))
  return async (db: Parameters<typeof insertRaw>[0]) => {
    await insertRaw(db, { id: rawId, ...kept, createdAt: date.toISOString() })
    const outgoing = {
      id,
      date,
      inbox,
      fromAddr: from,
      // Nobody is to be told that a report did not arrive.
      mailFrom: '',
      category: 'automated' as const,
      purpose: 'report' as const,
      addressees: { to: people, cc: [], bcc: [], replyTo: null, written: new Map(), all: to },
      body: { text: tlsReportText(made), html: null },
      rfcMessageId,
      attachments: [storedAttachment(file, 'application/tlsrpt+gzip', raw.length, 0)],
      subject,
      inReplyTo: null,
      references: [],
      thread: undefined,
    }
    const counted = await countOutgoing(db, inbox.id, undefined, { date, sizeBytes: raw.length })
    if (!counted) throw new Error(`no inbox ${inbox.address}`)
    await writeOutgoing(app, db, { ...outgoing, inbox: counted }, { id: rawId, sizeBytes: raw.length })
  }
}

/** The MTA-STS policy that the domain had at the end of that day; of one that was fetched later nobody knows what was there before. */
async function findPolicyOfDay(
  app: App,
  { day, domain }: { day: string; domain: string },
): Promise<TlsReportPolicy['policy']> {
  const row = await findStsPolicy(app.store.read, domain)
  if (!row || row.fetchedAt.slice(0, 10) > day) return undefined
  const policy = stsPolicyOf(row)
  return { lines: writeStsPolicy(policy).trimEnd().split('\r\n'), hosts: policy.mx }
}

function policiesOf(rows: readonly TlsResultRow[], policy: TlsReportPolicy['policy']): TlsReportPolicy[] {
  const types = [...new Set(rows.map(row => row.policyType))]
  return types.map(policyType => {
    const same = rows.filter(row => row.policyType === policyType)
    const failed = same.filter(row => row.type !== 'success')
    const successes = same.filter(row => row.type === 'success').reduce((sum, row) => sum + row.count, 0)
    return {
      policyType,
      policy: policyType === 'sts' ? policy : undefined,
      successes,
      failures: failed.map(({ type, host, count }) => ({ type, host, count })),
    }
  })
}
