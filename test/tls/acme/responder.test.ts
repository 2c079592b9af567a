import t from 'tap'
import { openResponder } from '../../../lib/tls/acme/responder.ts'
import { freePort } from '../../support/ports.ts'

t.test('it answers the question that is open, and nothing else', async t => {
  const port = await freePort('127.0.0.1')
  const responder = await openResponder([{ host: '127.0.0.1', port }])
  t.teardown(() => responder.close())
  responder.answer('token', 'token.thumbprint')
  const ask = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${port}${path}`, { method })
  const right = await ask('/.well-known/acme-challenge/token')
  t.equal(right.status, 200)
  t.equal(await right.text(), 'token.thumbprint')
  for (const path of ['/', '/.well-known/acme-challenge/', '/.well-known/acme-challenge/other', '/token']) {
    t.equal((await ask(path)).status, 404, path)
  }
  t.equal((await ask('/.well-known/acme-challenge/token', 'POST')).status, 404)
  await t.rejects(openResponder([{ host: '127.0.0.1', port }]), { code: 'EADDRINUSE' })
  await responder.close()
  await t.rejects(ask('/'))
})
