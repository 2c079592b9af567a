import type { Config } from '../../config/load.ts'

/** Whether this is local mode: nobody elsewhere can look its name up (RFC 6761 §6.3), and no mail leaves. */
export function hasLocalName({ hostname, account_domain: domain, delivery }: Config): boolean {
  return delivery.mode === 'capture' && [hostname, domain].every(name => name.endsWith('.localhost'))
}
