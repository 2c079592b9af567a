import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { mock } from 'node:test'
import { createSecureContext } from 'node:tls'
import t from 'tap'
import { openTarget } from '../../lib/courier/guarded-connect.ts'
import { zoneDns } from '../mail/domain/zone-dns.ts'
import { loopbackGuard } from './loopback.ts'

t.test(
  'what is open stays so, whatever time it had to become it, and whoever gives up waiting for it',
  async t => {
    const server = createServer(socket => void socket.on('error', () => {})).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    mock.timers.enable({ apis: ['setTimeout'] })
    t.teardown(() => mock.timers.reset())
    const waiting = new AbortController()
    const { port } = server.address() as AddressInfo
    const options = {
      dns: zoneDns({}),
      guard: loopbackGuard,
      secureContext: createSecureContext(),
      connectMs: 1000,
      refusalEnd: 'where nothing is sent',
    }
    const opened = await openTarget({ isTls: false, host: '127.0.0.1', port }, options, waiting.signal)
    if (!('socket' in opened)) throw new Error(opened.error)
    t.teardown(() => opened.socket.destroy())
    t.equal(opened.address, '127.0.0.1')
    mock.timers.tick(options.connectMs * 2)
    waiting.abort(new Error('given up'))
    t.equal(opened.socket.destroyed, false)
  },
)
