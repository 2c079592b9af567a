import t from 'tap'
import { createRoutes } from '../../lib/http/routes.ts'

t.test('finds what was declared, by method, with its parameters', async t => {
  const routes = createRoutes<string>()
  for (const [method, path] of [
    ['post', '/v1/pods'],
    ['get', '/v1/pods'],
    ['get', '/v1/pods/{id}'],
    ['delete', '/v1/pods/{id}/keys/{keyId}'],
    ['get', '/v1/messages/search'],
    ['get', '/v1/messages/{id}/raw'],
    ['get', '/files/{a}/{b}'],
  ] as const) {
    routes.add(method, path, `${method} ${path}`)
  }
  routes.add('get', '/docs', 'docs', true)

  for (const [method, path, target, params] of [
    ['GET', '/v1/pods', 'get /v1/pods', {}],
    ['HEAD', '/v1/pods', 'get /v1/pods', {}],
    ['POST', '/v1/pods/', 'post /v1/pods', {}],
    ['GET', '/v1/pods/x', 'get /v1/pods/{id}', { id: 'x' }],
    ['GET', '/v1/pods/a%20%2fb', 'get /v1/pods/{id}', { id: 'a /b' }],
    ['GET', '/v1/pods/%ff', 'get /v1/pods/{id}', { id: '%ff' }],
    ['GET', '/v1/pods/__proto__', 'get /v1/pods/{id}', { id: '__proto__' }],
    ['DELETE', '/v1/pods/x/keys/y', 'delete /v1/pods/{id}/keys/{keyId}', { id: 'x', keyId: 'y' }],
    ['GET', '/v1/messages/search', 'get /v1/messages/search', {}],
    // A text that leads nowhere further may still be a parameter.
    ['GET', '/v1/messages/search/raw', 'get /v1/messages/{id}/raw', { id: 'search' }],
    ['GET', '/files/a/b', 'get /files/{a}/{b}', { a: 'a', b: 'b' }],
    ['GET', '/docs', 'docs', {}],
  ] as const) {
    t.strictSame(routes.find(method, path), { target, params }, `${method} ${path}`)
  }
  for (const [path, allowed] of [
    ['/v1/pods', ['POST', 'GET', 'HEAD']],
    ['/v1/pods/x', ['GET', 'HEAD']],
    ['/v1/pods/x/keys/y/', ['DELETE']],
  ] as const) {
    t.strictSame(routes.find('PATCH', path), { allowed }, path)
  }
  for (const path of [
    ...['/', '', '*', '/v1', '/v1/', '/v1/Pods', '/v1//pods', '/v1/pods//', '/v1/pods/x/y', '/v1/%70ods'],
    ...['/v1/pods/x/keys', '/v1/pods/x/keys/', '/v1/pods//keys/y', '/v1/messages/x', '/files/a', '/files//b'],
    ...['/docs/', '//v1/pods', '/v1/pods/x/keys/y/z', '/__proto__', '/constructor'],
  ]) {
    t.equal(routes.find('GET', path), undefined, path)
    t.equal(routes.find('PUT', path), undefined, path)
  }
})
