import { gzipSync } from 'node:zlib'

/** What was seen of TLS with the mail servers of a domain on a day, by one policy (RFC 8460 §4.4). */
export interface TlsReportPolicy {
  readonly policyType: string
  /** The lines of that of MTA-STS and the hosts that it names, where it is known which one it was. */
  readonly policy: { readonly lines: readonly string[]; readonly hosts: readonly string[] } | undefined
  readonly successes: number
  /** Of a host, or of the policy itself: then `host` is empty. */
  readonly failures: readonly { readonly type: string; readonly host: string; readonly count: number }[]
}

export interface TlsReport {
  /** Unique among the reports of this server. */
  readonly id: string
  /** The domain that it is about. */
  readonly domain: string
  /** UTC, "2026-11-22". */
  readonly day: string
  /** The name of this server. */
  readonly submitter: string
  readonly contact: string
  readonly policies: readonly TlsReportPolicy[]
}

/**
 * The addresses that reports about a domain are to go to by mail, of the texts at `_smtp._tls.<domain>` (RFC 8460 §3); of two
 * records nobody knows which one counts.
 */
export function readReportAddresses(texts: readonly string[], most: number): string[] {
  const records = texts.filter(text => /^v=TLSRPTv1[ \t]*;/.test(text))
  const [record = ''] = records.length === 1 ? records : []
  const rua = record
    .split(';')
    .map(field => /^rua=(.*)$/s.exec(field.trim())?.[1])
    .find(value => value !== undefined)
  return (rua ?? '')
    .split(',')
    .map(uri => /^mailto:([A-Za-z0-9.+_=-]{1,64}@[A-Za-z0-9.-]{1,253})$/i.exec(uri.trim())?.[1])
    .filter(address => address !== undefined)
    .slice(0, most)
}

/** The report as JSON (RFC 8460 §4.4). */
function tlsReportJson({ id, domain, day, submitter, contact, policies }: TlsReport): string {
  return JSON.stringify({
    'organization-name': submitter,
    'date-range': { 'start-datetime': `${day}T00:00:00Z`, 'end-datetime': `${day}T23:59:59Z` },
    'contact-info': contact,
    'report-id': id,
    policies: policies.map(({ policyType, policy, successes, failures }) => ({
      policy: {
        'policy-type': policyType,
        ...(policy && { 'policy-string': policy.lines }),
        'policy-domain': domain,
        ...(policy && { 'mx-host': policy.hosts }),
      },
      summary: {
        'total-successful-session-count': successes,
        'total-failure-session-count': failures.reduce((sum, one) => sum + one.count, 0),
      },
      ...(failures.length > 0 && {
        'failure-details': failures.map(({ type, host, count }) => ({
          'result-type': type,
          ...(host === '' ? {} : { 'receiving-mx-hostname': host }),
          'failed-session-count': count,
        })),
      }),
    })),
  })
}

/** How the report is called (RFC 8460 §5.1), and the subject of its mail (§5.3). */
export function tlsReportNames({ id, domain, day, submitter }: TlsReport): {
  readonly file: string
  readonly subject: string
} {
  const start = Date.parse(`${day}T00:00:00Z`) / 1000
  return {
    file: `${submitter}!${domain}!${start}!${start + 86_399}!${id}.json.gz`,
    subject: `Report Domain: ${domain} Submitter: ${submitter} Report-ID: <${id}@${submitter}>`,
  }
}

/** The text for people in a report's mail. */
export function tlsReportText({ domain, day, submitter }: TlsReport): string {
  return `This is an aggregate TLS report (RFC 8460) from ${submitter} about mail to ${domain} on ${day}, UTC.\r\n`
}

/**
 * The report as a mail, unsigned (RFC 8460 §5.3).
 * @param mail.messageId with its angle brackets
 */
export function tlsReportMail(
  report: TlsReport,
  mail: {
    readonly from: string
    readonly to: readonly string[]
    readonly date: Date
    readonly messageId: string
  },
): Buffer {
  const { domain, submitter, id } = report
  const { file, subject } = tlsReportNames(report)
  const boundary = `=_${id}`
  const content = gzipSync(tlsReportJson(report))
    .toString('base64')
    .replace(/.{76}(?=.)/g, '$&\r\n')
  return Buffer.from(
    [
      `From: ${mail.from}`,
      `To: ${mail.to.join(',\r\n\t')}`,
      `Date: ${mail.date.toUTCString().replace('GMT', '+0000')}`,
      `Message-ID: ${mail.messageId}`,
      `Subject: ${subject.replace(/ (?=Submitter|Report-ID)/g, '\r\n\t')}`,
      'Auto-Submitted: auto-generated',
      `TLS-Report-Domain: ${domain}`,
      `TLS-Report-Submitter: ${submitter}`,
      'MIME-Version: 1.0',
      `Content-Type: multipart/report; report-type="tlsrpt";\r\n\tboundary="${boundary}"`,
      '',
      `--${boundary}`,
      'Content-Type: text/plain; charset=us-ascii',
      '',
      tlsReportText(report),
      `--${boundary}`,
      'Content-Type: application/tlsrpt+gzip',
      'Content-Transfer-Encoding: base64',
      `Content-Disposition: attachment;\r\n\tfilename="${file}"`,
      '',
      content,
      `--${boundary}--`,
      '',
    ].join('\r\n'),
  )
}
