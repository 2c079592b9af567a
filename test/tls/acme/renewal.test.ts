import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createLog } from '../../../lib/base/log.ts'
import { type Clock, systemClock } from '../../../lib/base/time.ts'
import { accountKeyPath } from '../../../lib/tls/acme/account-key.ts'
import { issuedPaths } from '../../../lib/tls/acme/issued.ts'
import { type RenewalParts, startRenewal } from '../../../lib/tls/acme/renewal.ts'
import type { SharedKind, SharedOrders } from '../../../lib/tls/acme/shared.ts'
import { readPair } from '../../../lib/tls/pair.ts'
import { writeCertificate } from '../../support/certificate.ts'
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

/** What nodes have in common, in the memory of a test. */
function sharedInMemory() {
  const files = new Map<SharedKind, string>()
  const answers = new Map<string, string>()
  const listeners = new Set<() => void>()
  const state = { isElsewhere: false, taken: 0 }
  const shared: SharedOrders = {
    async take() {
      if (state.isElsewhere) return undefined
      state.taken++
      return async () => void state.taken--
    },
    read: async kind => files.get(kind),
    async write(kind, text) {
      files.set(kind, text)
      for (const listener of listeners) listener()
    },
    publish: async (token, keyAuthorization) => void answers.set(token, keyAuthorization),
    findAnswer: async token => answers.get(token),
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
  return { files, answers, listeners, state, shared }
}

t.test(
  'of nodes that share it one orders, with the account of all, and the others have the certificate',
  { skip: without('pebble') },
  async t => {
    const pebble = await startPebble(t)
    const { files, answers, listeners, state, shared } = sharedInMemory()
    const node = async (port?: number) => {
      const dataDir = temporaryDir(t)
      const listen = [{ host: '127.0.0.1', port: port ?? (await freePort('127.0.0.1')) }]
      const started = start(t, pebble, { dataDir, listen, shared })
      const fileOf = (path: string) => readFileSync(path, 'utf8')
      return {
        ...started,
        certificate: () => fileOf(issuedPaths(dataDir).certificate),
        account: () => fileOf(accountKeyPath(dataDir)),
      }
    }
    // The CA comes to this one alone, whatever it is asked about.
    const first = await node(pebble.httpPort)
    await first.look()
    t.strictSame([first.orders(), first.state.issued], [1, 1])
    t.strictSame(
      ['account', 'certificate', 'standing'].map(kind => files.get(kind as SharedKind)),
      [first.account(), first.certificate(), '{}\n'],
    )
    const second = await node()
    await second.look()
    t.strictSame([second.orders(), second.state.issued], [0, 1])
    t.equal(second.certificate(), first.certificate())
    await second.look()
    t.equal(second.state.issued, 1, 'once')
    files.delete('certificate')
    await second.look()
    t.equal(files.get('certificate'), second.certificate(), 'what is shared no more comes from who has it')

    // Neither has one any more, and another orders.
    await second.stop()
    const { size } = answers
    files.delete('certificate')
    files.delete('standing')
    state.isElsewhere = true
    const third = await node()
    await third.look()
    t.equal(third.orders(), 0, 'another makes it')
    state.isElsewhere = false
    await third.look()
    t.equal(third.orders(), 1)
    t.equal(third.account(), first.account())
    // An answer to the CA names the key of the account that asked (RFC 8555 §8.1).
    t.ok(answers.size >= size)
    t.equal(new Set([...answers.values()].map(answer => answer.split('.')[1])).size, 1)
    t.equal(state.taken, 0, 'what was taken is given back')
    for (const one of [first, third]) {
      t.strictSame(
        one.log.filter(({ level }) => level === 'error'),
        [],
      )
      await one.stop()
    }
    t.equal(listeners.size, 0)
  },
)

t.test('a node heeds at once what another has got, and how its order failed', async t => {
  const gone = { directory: 'https://127.0.0.1:1/dir', httpPort: await freePort('127.0.0.1'), ca: '' }
  const nowhere = { ...gone, caPath: '', stop: async () => {} }
  // Each has an address of its own, and the order is the same.
  const node = async (shared: SharedOrders) =>
    start(t, nowhere, {
      dataDir: temporaryDir(t),
      listen: [{ host: '127.0.0.1', port: await freePort('127.0.0.1') }],
      shared,
    })
  const { state, shared } = sharedInMemory()
  state.isElsewhere = true
  const waiting = await node(shared)
  await waiting.look()
  const { cert, key } = await writeCertificate(temporaryDir(t), name)
  await shared.write('certificate', readFileSync(key, 'utf8') + readFileSync(cert, 'utf8'))
  await until('it has the certificate', () => waiting.state.issued === 1)
  t.equal(waiting.orders(), 0)

  const failing = sharedInMemory()
  const one = await node(failing.shared)
  await one.look()
  t.match(JSON.parse(failing.files.get('standing')!), { failures: 1 })
  const other = await node(failing.shared)
  await other.look()
  t.strictSame([one.orders(), other.orders(), failing.state.taken], [1, 0, 0])
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
