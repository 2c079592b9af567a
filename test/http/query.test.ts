import t from 'tap'
import { Type } from 'typebox'
import { operations } from '../../lib/api/index.ts'
import { readQuery } from '../../lib/http/query.ts'
import { startApi } from '../support/api-app.ts'

t.test('query parameters', async t => {
  const { api } = await startApi(t)
  const { id: inbox } = (await api.post('/v1/inboxes', {})).body

  t.test('what no operation has is refused by each that is asked for with a key', async t => {
    const read = operations.filter(
      ({ access, method }) => access !== 'anyone' && (method === 'get' || method === 'delete'),
    )
    t.ok(read.length > 30, `${read.length}`)
    for (const { id, method, path } of read) {
      const { status, body } = await api.call(
        method.toUpperCase(),
        `${path.replaceAll(/\{\w+\}/g, 'x')}?nonsense=1&constructor=2`,
      )
      t.equal(status, 400, id)
      t.match(body, { error: 'invalid_request', message: /query\/nonsense is not / }, id)
    }
  })

  t.test('the one that was meant is named', async t => {
    for (const [given, meant] of [
      ['query', 'q'],
      ['Offst', 'offset'],
      ['hasattachment', 'hasAttachment'],
    ]) {
      const { status, body } = await api.get(`/v1/inboxes/${inbox}/messages?${given}=x`)
      t.equal(status, 400)
      t.match(body, { message: new RegExp(`query/${given} .*did you mean ${meant}\\?`) })
    }
  })

  t.test('who looks whether the server lives may add what keeps a cache out', async t => {
    t.equal((await api.get('/health?ts=1')).status, 200)
    t.equal((await api.get('/v1/openapi.json?v=2')).status, 200)
  })
})

t.test('each is read as its type has it, and stays text where it has another form', async t => {
  const schema = Type.Object({ count: Type.Integer(), is: Type.Boolean(), name: Type.String() })
  const read = (text: string) => readQuery(new URLSearchParams(text), schema)
  t.strictSame(read('count=12&is=true&name=true'), { count: 12, is: true, name: 'true' })
  t.strictSame(read('count=-1&is=false&name=1'), { count: -1, is: false, name: '1' })
  for (const text of ['', '1.0', '1e3', ' 1', '--1', '0x1']) {
    t.strictSame(read(`count=${text}`), { count: text })
  }
  for (const is of ['', 'yes', '1', 'TRUE', 'true ']) t.strictSame(read(`is=${is}`), { is })
  t.strictSame(read(`count=${'9'.repeat(40)}`), { count: Number.MAX_SAFE_INTEGER })
  t.strictSame(read('other=1&other=2'), { other: '2' })
  t.throws(() => read('name=a&name=b'), { code: 'invalid_request' })
})
