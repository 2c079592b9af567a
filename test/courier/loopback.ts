import type { Test } from 'tap'
import { systemClock } from '../../lib/base/time.ts'
import { createAddressGuard } from '../../lib/courier/address-guard.ts'
import { createDns } from '../../lib/courier/dns.ts'
import { isOutcome, type Outcome } from '../../lib/courier/outcome.ts'
import {
  createSmtpCourier,
  type SmtpCourier,
  type SmtpCourierOptions,
  type SmtpDelivery,
} from '../../lib/courier/smtp/courier.ts'
import { type DnsZone, startDns, type TestDns } from '../support/dns.ts'
import { freePort } from '../support/ports.ts'
import { type Script, type ScriptedPeer, startPeer } from './smtp/scripted-peer.ts'

export const hosts = ['127.0.0.2', '127.0.0.3', '127.0.0.4'] as const
export const raw = Buffer.from('From: a@here.example\r\nSubject: x\r\n\r\nline\r\n.dot\r\n')

/** Lets mail go where the servers of tests are. */
export const loopbackGuard = createAddressGuard({
  clock: systemClock,
  allowNetworks: ['127.0.0.0/8', '::1/128'],
  ownAddresses: () => [],
  ownPorts: () => [],
})

const timeouts = {
  connectMs: 5000,
  greetingMs: 5000,
  commandMs: 5000,
  dataBlockMs: 5000,
  finalReplyMs: 5000,
  resetMs: 5000,
  quitMs: 500,
  totalMs: 20_000,
  firstGreetingMs: 5000,
  silentMs: 5000,
}

export function delivery(more: Partial<SmtpDelivery> = {}): SmtpDelivery {
  const rcptTo = 'b@there.example'
  return {
    id: 'd1',
    mailFrom: 'a@here.example',
    rcptTo,
    domain: 'there.example',
    sizeBytes: raw.length,
    ...more,
  }
}

export interface Loopback {
  readonly dns: TestDns
  readonly port: number
  readonly courier: SmtpCourier
  /** The peers at 127.0.0.2, 127.0.0.3 ..., which are the MX of there.example by preference 10, 20 ... */
  readonly peers: readonly ScriptedPeer[]
}

/** A courier, the DNS that it asks, and one peer for each script; `undefined` leaves a host without a server. */
export async function loopback(
  t: Test,
  scripts: readonly (Script | undefined)[],
  options: Partial<SmtpCourierOptions> = {},
): Promise<Loopback> {
  const port = await freePort(...hosts)
  const used = hosts.slice(0, Math.max(1, scripts.length))
  const zone: Record<string, DnsZone[string]> = {
    'there.example': {
      MX: used.map((_, index) => ({ priority: 10 * (index + 1), exchange: `mx${index + 1}.there.example` })),
    },
  }
  for (const [index, address] of used.entries()) zone[`mx${index + 1}.there.example`] = { A: [address] }
  const dns = await startDns(zone)
  const peers: ScriptedPeer[] = []
  for (const [index, script] of scripts.entries())
    if (script !== undefined) peers.push(await startPeer(hosts[index] ?? hosts[0], port, script))
  const courier = createSmtpCourier({
    dns: createDns({ servers: [dns.server], timeoutMs: 500 }),
    clock: systemClock,
    hostname: 'here.example',
    guard: loopbackGuard,
    port,
    ...options,
    timeouts: { ...timeouts, ...options.timeouts },
  })
  t.teardown(async () => {
    await courier.close()
    await Promise.all([dns.close(), ...peers.map(peer => peer.close())])
  })
  return { dns, port, courier, peers }
}

/** Carries a message once. @throws Error if the attempt has no outcome */
export async function outcomeOf(
  courier: SmtpCourier,
  ...carried: Parameters<SmtpCourier['carry']>
): Promise<Outcome> {
  const result = await courier.carry(...carried)
  if (!isOutcome(result)) throw new Error(`the attempt has no outcome: ${result.result}`)
  return result
}
