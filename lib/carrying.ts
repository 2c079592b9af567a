import { dnsTimeoutMs } from './base/network.ts'
import type { App, Networked } from './core/app/app.ts'
import { deliver } from './core/delivery/deliver.ts'
import { routesOf } from './core/delivery/routes.ts'
import { createKeptStsPolicies } from './core/delivery/sts-policies.ts'
import { sendScheduledDraft } from './core/drafts/send.ts'
import { createScreening } from './core/screening.ts'
import { createWebhooks, type Webhooks } from './core/webhooks/tell.ts'
import { createAddressGuard, interfaceAddresses } from './courier/address-guard.ts'
import { createSecureDns } from './courier/encryption/secure-dns.ts'
import type { Providers } from './courier/providers.ts'
import { shareAnswers } from './courier/shared-dns.ts'
import { createSmtpCourier } from './courier/smtp/courier.ts'
import { sourceOf } from './courier/smtp/routes.ts'
import type { Leased } from './queue/lease.ts'
import { createRunner, type Runner } from './queue/runner.ts'
import type { Scheduler, SchedulerOptions } from './queue/scheduler.ts'

/** Scheduled drafts that are composed at the same time. */
const draftsAtOnce = 2
/**
 * How many events are taken from the queue for each call that may be under way: most of them wait for an earlier event of
 * their inbox.
 */
const webhookTurns = 4
/** How many attempts at once a destination gets of which nothing is known (Postfix begins with as many). */
export const paceFirst = 5
/** How long attempts may take when the daemon stops. */
const stopCarriedMs = 6_000

interface CourierParts {
  readonly providers: Providers
  readonly random: () => number
  /** The ports that this server listens on; no mail may lead there. */
  readonly ownPorts: () => readonly number[]
}

/** Opens the ways out: the courier of mail, and the scanners and DNS lists. */
export function openWaysOut(app: App, parts: CourierParts): Networked {
  const courier = createCourier(app, parts)
  const { scanner, dnsLists } = createScreening(app)
  return Object.create(app, {
    courier: { value: courier },
    scanner: { value: scanner },
    dnsLists: { value: dnsLists },
  })
}

function createCourier(app: App, { providers, random, ownPorts }: CourierParts) {
  const { config, clock, log } = app
  const { delivery } = config
  const dns = shareAnswers(app.dns, clock)
  const server = config.dns.validating_server
  const guard = createAddressGuard({
    clock,
    allowNetworks: delivery.allow_networks,
    ownAddresses: interfaceAddresses,
    ownPorts,
  })
  return createSmtpCourier({
    providers,
    dns,
    secureDns: server === undefined ? undefined : createSecureDns({ server, timeoutMs: dnsTimeoutMs }),
    stsPolicies: createKeptStsPolicies(app, dns, guard),
    guard,
    clock,
    log,
    hostname: config.hostname,
    port: delivery.port,
    ownNames: config.acme.names,
    ownAddresses: delivery.public_addresses,
    routes: routesOf(config),
    sourceAddress: sourceOf(delivery.source_address),
    useIpv6: delivery.ipv6,
    random,
    mostAtAddress: delivery.concurrency_per_destination,
  })
}

/**
 * Starts the runners of mail, drafts and webhooks, once the entries that killed processes had leased are due again.
 * @returns a function that claims nothing more and resolves when all work under way has ended
 */
export async function startCarrying(
  app: Networked,
  parts: Pick<CourierParts, 'providers' | 'random'>,
): Promise<() => Promise<void>> {
  const { queue, log } = app
  const recover = async () => {
    const recovered = await queue.recover()
    if (recovered > 0) log.info({ recovered }, 'queue entries of a killed process are due again')
  }
  await recover()
  app.nodes.watch(recover)
  const webhooks = createWebhooks(app, parts.random)
  const runners = createRunners(app, parts.providers, webhooks)
  for (const one of runners) one.start()
  let ended: Promise<void> | undefined
  return () => {
    ended ??= endRunners(runners, async () => {
      queue.stop()
      webhooks.stop()
      await app.courier.close()
    })
    return ended
  }
}

/** Makes the runners: what each claims, and how that is performed. */
function createRunners(app: Networked, providers: Providers, webhooks: Webhooks): Runner[] {
  const { queue, log, config } = app
  const make = (
    options: SchedulerOptions,
    perform: (entry: Leased, scheduler: Scheduler) => Promise<void>,
  ) => {
    const scheduler = queue.scheduler(options)
    const { kind } = options
    return createRunner({ queue, kind, scheduler, perform: entry => perform(entry, scheduler), log })
  }
  const { concurrency, concurrency_per_destination: mostEach } = config.delivery
  const ofOthers = { concurrency: mostEach, perMinute: 0, first: paceFirst }
  return [
    make(
      { kind: 'delivery', concurrency, allowanceOf: name => providers.named(name) ?? ofOthers },
      (entry, scheduler) => deliver(app, entry, scheduler.attemptOf(entry)),
    ),
    make(
      {
        kind: 'draft',
        concurrency: draftsAtOnce,
        slow: draftsAtOnce,
        allowanceOf: () => ({ concurrency: 1, perMinute: 0 }),
      },
      entry => sendScheduledDraft(app, entry),
    ),
    make(
      {
        kind: 'webhook',
        concurrency: config.webhook.concurrency * webhookTurns,
        allowanceOf: url => ({ concurrency: webhooks.concurrencyOf(url), perMinute: 0 }),
      },
      webhooks.tell,
    ),
  ]
}

/** Claims nothing more, and breaks off what has not come to its end in its share of the time to stop. */
async function endRunners(runners: readonly Runner[], breakOff: () => Promise<void>): Promise<void> {
  const drained = Promise.all(runners.map(one => one.stop()))
  await Promise.race([drained, new Promise(resolve => setTimeout(resolve, stopCarriedMs).unref())])
  await breakOff()
  await drained
}
