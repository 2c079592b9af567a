import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { createInbox } from '../../../lib/core/account/inboxes.ts'
import { createPod } from '../../../lib/core/account/pods.ts'
import type { Networked } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { createDns } from '../../../lib/courier/dns.ts'
import type { StsFinding } from '../../../lib/courier/encryption/sts-policies.ts'
import { createSmtpCourier } from '../../../lib/courier/smtp/courier.ts'
import type { Leased } from '../../../lib/queue/lease.ts'
import { createRunner } from '../../../lib/queue/runner.ts'
import { loopbackGuard } from '../../courier/loopback.ts'
import { startPeer } from '../../courier/smtp/scripted-peer.ts'
import { startDns } from '../../support/dns.ts'
import { freePort } from '../../support/ports.ts'
import { openDoor } from '../../support/smtp-door.ts'
import { until } from '../../support/until.ts'

const hosts = [
  'mx.victim.example',
  'mx0.evil.example',
  'mx1.evil.example',
  'mx2.evil.example',
  'mx3.evil.example',
]

/** A server at one address, the domains of one pod that lead there by names of its own or of the server, and two pods that send. */
async function stage(t: Test, mxOf: (n: number) => string[]) {
  const mxPort = await freePort('127.0.0.9')
  const at = (names: string[]) => ({ MX: names.map((exchange, n) => ({ priority: 10 + n, exchange })) })
  const evil = [0, 1, 2, 3].map(n => `evil${n}.example`)
  const dns = await startDns({
    'victim.example': at(['mx.victim.example']),
    ...Object.fromEntries(hosts.map(name => [name, { A: ['127.0.0.9'] }])),
    ...Object.fromEntries(evil.map((name, n) => [name, at(mxOf(n))])),
  })
  const peer = await startPeer('127.0.0.9', mxPort, {
    RCPT: () => (peer.commands.at(-1)!.includes('victim') ? '250 ok' : '454 4.7.1 Relay access denied'),
  })
  const door = await openDoor(t, { dns: dns.server, mxPort, toml: '[delivery]\nmode = "mx"' })
  const stuck = new Set<string>()
  const asked: string[] = []
  let letGo = () => {}
  const never = new Promise<StsFinding>(resolve => {
    letGo = () => resolve({})
  })
  const resolver = createDns({ servers: [dns.server], timeoutMs: 3000 })
  const courier = createSmtpCourier({
    dns: {
      ...resolver,
      async resolve4(name) {
        if (!name.startsWith('silent')) return resolver.resolve4(name)
        asked.push(name)
        await never
        return []
      },
    },
    clock: systemClock,
    hostname: 'mail.ours.example',
    guard: loopbackGuard,
    port: mxPort,
    stsPolicies: {
      of: async domain => {
        asked.push(domain)
        return stuck.has(domain) ? never : {}
      },
    },
  })
  const app: Networked = Object.create(door.app, { courier: { value: courier } })
  const scheduler = app.queue.scheduler({
    kind: 'delivery',
    concurrency: 40,
    allowanceOf: () => ({ concurrency: 3, perMinute: 0 }),
  })
  const perform = (entry: Leased) => deliver(app, entry, scheduler.attemptOf(entry))
  const runner = createRunner({ queue: app.queue, kind: 'delivery', scheduler, perform, log: app.log })
  runner.start()
  t.teardown(async () => {
    letGo()
    await courier.close()
    await runner.stop()
    await peer.close()
    await dns.close()
  })
  let number = 0
  const sender = async (name: string) => {
    const pod = await createPod(app, { name })
    const { id } = await createInbox(app, operator, { podId: pod.id, mailboxName: name })
    return (to: string) => send(app, operator, id, { to, subject: 's', body: 'b' }, `${name}${number++}`)
  }
  const [byEvil, byGood] = [await sender('eve'), await sender('gus')]
  const taken = (count: number) => until(`${count} are taken`, () => peer.messages.length === count, 60_000)
  return { evil, stuck, asked, byEvil, byGood, taken, peer }
}

for (const [what, mxOf] of [
  ['the servers', () => ['mx.victim.example']],
  ['the address', (n: number) => [`mx${n}.evil.example`]],
] as const)
  t.test(`mail to ${what} goes on while another pod's waits for policies that never come`, async t => {
    const { evil, stuck, asked, byEvil, byGood, taken, peer } = await stage(
      t,
      mxOf as (n: number) => string[],
    )
    for (const domain of evil) await byEvil(`x@${domain}`)
    await until('it is known where they lead', () => {
      return peer.commands.filter(line => line.startsWith('RCPT')).length === evil.length
    })
    for (const domain of evil) stuck.add(domain)
    asked.length = 0
    for (const domain of evil) await byEvil(`y@${domain}`)
    await until('those are asked for that are to be', () => asked.length >= 2)
    for (let n = 0; n < 3; n++) await byGood(`b${n}@victim.example`)
    await taken(3)
  })

t.test("mail to an address goes on while the names of another pod's other servers are looked up", async t => {
  const { evil, asked, byEvil, byGood, taken } = await stage(t, n => [
    `mx${n}.evil.example`,
    ...[0, 1, 2, 3].map(each => `silent${each}.evil.example`),
  ])
  for (const domain of evil) await byEvil(`x@${domain}`)
  await until('the others are looked up', () => asked.some(name => name.startsWith('silent')))
  for (let n = 0; n < 3; n++) await byGood(`b${n}@victim.example`)
  await taken(3)
})
