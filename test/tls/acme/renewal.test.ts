import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../../lib/base/clock.ts'
import { createLog } from '../../../lib/base/log.ts'
import { issuedPaths } from '../../../lib/tls/acme/issued.ts'
import { type RenewalParts, startRenewal } from '../../../lib/tls/acme/renewal.ts'
import { readPair } from '../../../lib/tls/pair.ts'
import { type Pebble, startPebble } from '../../support/pebble.ts'
import { without } from '../../support/peers.ts'
import { freePort } from '../../support/ports.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { until } from '../../support/until.ts'

const name = 'mail.box.example'

function aheadClock() {
  let aheadMs = 0
  const clock: Clock = { ...systemClock, now: () => new Date(systemClock.now().getTime() + aheadMs) }
  return {
    clock,
    advance(ms: number) {
      aheadMs += ms
    },
  }
}

/** A renewal against this CA, with what it logged and how often it got a certificate. */
function start(t: Test, pebble: Pebble, parts: Partial<RenewalParts> & Pick<RenewalParts, 'dataDir'>) {
  const log: Record<string, unknown>[] = []
  const state = { issued: 0 }
  const renewal = startRenewal({
    directory: pebble.directory,
    contact: 'postmaster@box.example',
    names: [name],
    listen: [{ host: '127.0.0.1', port: pebble.httpPort }],
    clock: systemClock,
    log: createLog('info', { write: line => void log.push(JSON.parse(line)) }),
    random: () => 0.5,
    hasAddress: async () => true,
    onIssued: async () => {
      state.issued++
    },
    ca: pebble.ca,
    ...parts,
  })
  t.teardown(() => renewal.stop())
  const orders = () => log.filter(entry => entry.msg === 'ACME: a certificate is ordered').length
  return { ...renewal, log, state, orders }
}

t.test('a certificate is gotten, kept, and renewed in time', { skip: without('pebble') }, async t => {
  const pebble = await startPebble(t, { refusedNonces: 60 })
  const dataDir = temporaryDir(t)
  const { clock, advance } = aheadClock()
  const paths = issuedPaths(dataDir)
  const leaf = () => new X509Certificate(readFileSync(paths.certificate))
  const one = start(t, pebble, { dataDir, clock })
  await one.look()
  t.strictSame(
    one.log.filter(entry => entry.level === 'error'),
    [],
  )
  t.equal(one.state.issued, 1)
  t.match(leaf().issuer, /Pebble Intermediate/)
  t.strictSame((await readPair(paths, clock.now())).pair.names, [name])
  for (const file of ['certificate.pem', 'account-key.pem']) {
    t.equal(statSync(join(dataDir, 'acme', file)).mode & 0o777, 0o600, file)
  }
  await t.rejects(fetch(`http://127.0.0.1:${pebble.httpPort}/`), 'nobody listens any more')
  const first = leaf().serialNumber
  await one.look()
  t.equal(one.orders(), 1, 'none is due')

  const lifeMs = leaf().validToDate.getTime() - leaf().validFromDate.getTime()
  advance(lifeMs * 0.66)
  await one.look()
  t.equal(one.orders(), 1, 'not before two thirds of its time')
  advance(lifeMs * 0.04)
  await one.look()
  t.equal(one.orders(), 2)
  t.equal(one.state.issued, 2)
  t.not(leaf().serialNumber, first)
  await one.stop()

  const key = readFileSync(join(dataDir, 'acme', 'account-key.pem'), 'utf8')
  const names = [name, 'mta-sts.box.example']
  const other = start(t, pebble, { dataDir, names, contact: 'other@box.example' })
  await other.look()
  t.equal(other.state.issued, 1, 'other names are another certificate')
  t.strictSame((await readPair(paths, systemClock.now())).pair.names.toSorted(), names)
  t.equal(readFileSync(join(dataDir, 'acme', 'account-key.pem'), 'utf8'), key, 'of the same account')
})

t.test('after a failure the gaps grow, over a restart too', { skip: without('pebble') }, async t => {
  const pebble = await startPebble(t)
  const dataDir = temporaryDir(t)
  const { clock, advance } = aheadClock()
  // The CA asks on another port, where nobody answers.
  const listen = [{ host: '127.0.0.1', port: await freePort('127.0.0.1') }]
  const one = start(t, pebble, { dataDir, clock, listen })
  await one.look()
  t.equal(one.state.issued, 0)
  const told = () => one.log.filter(entry => entry.level === 'error')
  t.match(told(), [
    {
      msg: 'ACME: no certificate; it is tried again',
      error: /^the CA says invalid: .*(connection|unauthorized|refused)/i,
    },
  ])
  t.notOk(existsSync(issuedPaths(dataDir).certificate))
  await one.look()
  t.equal(one.orders(), 1, 'not at once')
  advance(11 * 60_000)
  await one.look()
  t.equal(one.orders(), 2)
  advance(11 * 60_000)
  await one.look()
  t.equal(one.orders(), 2, 'the second gap is longer')
  await one.stop()

  const again = start(t, pebble, { dataDir, clock, listen })
  await again.look()
  await again.look()
  t.equal(again.orders(), 0, 'a restart does not shorten it')
  t.match(
    again.log.filter(entry => entry.level === 'warn'),
    [{ msg: 'ACME: the last order failed; it is tried again', error: /the CA says invalid/ }],
    'and says once what it waits for',
  )
  await again.stop()

  const mended = start(t, pebble, { dataDir, clock })
  await mended.look()
  t.equal(mended.state.issued, 1, 'what was changed is tried at once')
})

t.test(
  'where a name had no address, it is ordered again as soon as it has one, a few times',
  { skip: without('pebble') },
  async t => {
    const pebble = await startPebble(t)
    const dataDir = temporaryDir(t)
    const listen = [{ host: '127.0.0.1', port: await freePort('127.0.0.1') }]
    let has: boolean | undefined = false
    const one = start(t, pebble, { dataDir, listen, hasAddress: async () => has })
    await one.look()
    t.match(
      one.log.filter(entry => entry.level === 'error'),
      [{ msg: /as soon as DNS has an address/, withoutAddress: [name] }],
    )
    await one.look()
    has = undefined
    await one.look()
    t.equal(one.orders(), 1, 'not before DNS says that there is one')
    has = true
    await one.look()
    t.equal(one.orders(), 2, 'at once then')
    await one.look()
    t.equal(one.orders(), 2, 'and if it failed with an address, the gap counts')
    await one.stop()

    const other = start(t, pebble, {
      dataDir: temporaryDir(t),
      listen,
      // Gone at the end of each order, there at each look: whoever changes it about makes no order without end.
      hasAddress: async () => {
        has = !has
        return has
      },
    })
    has = true
    for (let count = 0; count < 8; count++) await other.look()
    t.equal(other.orders(), 4, 'and a CA that counts failures is spared')
  },
)

t.test('a CA that is not there is no more than a line in the log', { skip: without('pebble') }, async t => {
  const pebble = await startPebble(t)
  await pebble.stop()
  const one = start(t, pebble, { dataDir: temporaryDir(t) })
  await one.look()
  t.match(
    one.log.filter(entry => entry.level === 'error'),
    [{ error: /^no answer from https:\/\/localhost:\d+\/dir: / }],
  )
  const busy = start(t, pebble, { dataDir: temporaryDir(t), listen: [{ host: '192.0.2.1', port: 80 }] })
  await busy.look()
  t.match(
    busy.log.filter(entry => entry.level === 'error'),
    [{ err: { message: /EADDRNOTAVAIL/ } }],
  )
})

t.test('an order is broken off at once when the daemon stops', async t => {
  // It takes connections and never says anything.
  const sockets: Socket[] = []
  const silent = createServer(socket => void sockets.push(socket.on('error', () => {})))
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const { port } = silent.address() as AddressInfo
  const pebble = { directory: `https://127.0.0.1:${port}/dir`, httpPort: await freePort('127.0.0.1'), ca: '' }
  const one = start(t, { ...pebble, caPath: '', stop: async () => {} }, { dataDir: temporaryDir(t) })
  await until('the CA to be asked', () => sockets.length > 0)
  let isStopped = false
  void one.stop().then(() => {
    isStopped = true
  })
  // Sooner than any time of waiting for the CA is over.
  await until('the renewal to stop', () => isStopped, 10_000)
  t.strictSame(
    one.log.filter(entry => entry.level === 'error'),
    [],
    'which is no failure',
  )
})
