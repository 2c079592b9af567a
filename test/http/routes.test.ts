import t from 'tap'
import { Routes } from '../../lib/http/routes.ts'

const routes = new Routes<string>()
routes.add('get', '/v1/inboxes', 'list')
routes.add('post', '/v1/inboxes', 'create')
routes.add('get', '/v1/inboxes/{id}/messages/latest', 'latest')
routes.add('get', '/v1/inboxes/{id}/messages/{messageId}', 'message')
routes.add('delete', '/v1/inboxes/{id}', 'delete')
routes.add('get', '/docs', 'page', true)
routes.add('get', '/', 'home', true)

t.test('a path leads to the first route that it matches', async t => {
  for (const [method, path, to, params] of [
    ['GET', '/v1/inboxes', 'list', {}],
    ['HEAD', '/v1/inboxes', 'list', {}],
    ['GET', '/v1/inboxes/', 'list', {}],
    ['POST', '/v1/inboxes', 'create', {}],
    ['GET', '/v1/inboxes/a/messages/latest', 'latest', { id: 'a' }],
    ['GET', '/v1/inboxes/a/messages/b', 'message', { id: 'a', messageId: 'b' }],
    ['DELETE', '/v1/inboxes/ann%2Bx@example.com', 'delete', { id: 'ann+x@example.com' }],
    ['DELETE', '/v1/inboxes/%E0%A4%A', 'delete', { id: '%E0%A4%A' }],
    ['DELETE', '/v1/inboxes/__proto__', 'delete', { id: '__proto__' }],
    ['GET', '/docs', 'page', {}],
    ['GET', '/', 'home', {}],
  ] as const) {
    const found = routes.find(method, path)
    t.equal(found?.to, to, `${method} ${path}`)
    t.strictSame(found?.params, params, `${method} ${path}`)
  }
})

t.test('what is not quite one leads nowhere', async t => {
  for (const path of [
    '/V1/inboxes',
    '/v1/Inboxes',
    '/v1/inboxes//',
    '/v1/inboxes//messages/b',
    '/v1/inboxes/a/messages',
    '/v1/inboxes/a/messages/b/c',
    '/v1',
    '/docs/',
    '//',
    '*',
    'v1/inboxes',
  ]) {
    t.equal(routes.find('GET', path), undefined, path)
    t.strictSame(routes.methodsAt(path), [], path)
  }
})

t.test('a path that takes another method says which', async t => {
  t.equal(routes.find('PUT', '/v1/inboxes'), undefined)
  t.strictSame(routes.methodsAt('/v1/inboxes'), ['GET', 'HEAD', 'POST'])
  t.strictSame(routes.methodsAt('/v1/inboxes/a'), ['DELETE'])
  t.equal(routes.find('GET', '/v1/inboxes/a'), undefined)
})
