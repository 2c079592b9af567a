import t from 'tap'
import { startExim } from '../../support/exim.ts'
import { without } from '../../support/peers.ts'
import { startPostfix } from '../../support/postfix.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { delivery, loopback, raw } from '../loopback.ts'

/** Local parts that stand in quotes on the wire, and what they mean to who takes the mail (RFC 5321 §4.1.2). */
const quoted = [
  ['"a b"', 'a b'],
  ['"a@b"', 'a@b'],
  ['"dots..here"', 'dots..here'],
] as const

/** Postfix can not write keys with spaces inline: patterns name the Maildirs. */
const patterns = quoted.map(([, meant]) => `{ /^${meant.replaceAll('.', '[.]')}@/ ${meant}@there.example/ }`)

for (const [name, start, settings] of [
  ['postfix', startPostfix, { virtual_mailbox_maps: `regexp:{ ${patterns.join(' ')} }` }],
  ['exim', startExim, {}],
] as const)
  t.test(`local parts in quotes arrive at ${name} as they are meant`, { skip: without(name) }, async t => {
    const { courier, dns, port } = await loopback(t, [undefined])
    const server = await start({
      dir: temporaryDir(t),
      hostname: 'mx1.there.example',
      address: '127.0.0.2',
      port,
      settings,
      mailboxes: quoted.map(([, meant]) => `${meant}@there.example`),
    })
    t.teardown(() => server.stop())
    dns.set('there.example', 'MX', [{ priority: 10, exchange: 'mx1.there.example' }])
    for (const [local, meant] of quoted) {
      const outcome = await courier.carry(delivery({ rcptTo: `${local}@there.example` }), raw)
      t.match(outcome, { result: 'delivered', host: 'mx1.there.example' }, local)
      const [message] = await server.messages(`${meant}@there.example`)
      t.match(message?.toString(), /^Subject: x\r?$/m)
    }
    const nobody = await courier.carry(delivery({ rcptTo: '"a c"@there.example' }), raw)
    t.match(nobody, { result: 'permanent', code: 550 }, 'and nobody else gets it')
    await courier.close()
  })
