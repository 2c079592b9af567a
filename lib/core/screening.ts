import { durationMs } from '../config/duration.ts'
import { parseSocket } from '../config/endpoint.ts'
import { createDnsLists, type DnsLists } from '../courier/dns-lists.ts'
import { createScanner, type Scanner } from '../courier/scanner/scanner.ts'
import type { App } from './app/app.ts'

/** How long DNS lists may take to answer about a peer. */
const dnsListMs = 3_000

/** The ways to ask others about a message and its peer, as the settings name them. */
export function createScreening({
  config,
  dns,
  clock,
  log,
  meter,
}: Pick<App, 'config' | 'dns' | 'clock' | 'log' | 'meter'>): {
  readonly scanner: Scanner
  readonly dnsLists: DnsLists
} {
  const { clamav, rspamd_url, rspamd_spam_actions, timeout, max_message_size } = config.scanner
  return {
    scanner: createScanner({
      clock,
      log,
      meter,
      clamav: clamav === undefined ? undefined : parseSocket(clamav),
      rspamdUrl: rspamd_url,
      spamActions: rspamd_spam_actions,
      timeoutMs: durationMs(timeout),
      maxSizeBytes: max_message_size,
    }),
    dnsLists: createDnsLists({
      dns,
      clock,
      log,
      meter,
      zones: config.dns_lists.zones,
      timeoutMs: dnsListMs,
    }),
  }
}
