import t from 'tap'
import {
  BlobsFault,
  BucketOut,
  BytesElsewhere,
  StorageContended,
  StorageLocked,
  StorageUnreachable,
} from '../../lib/base/faults.ts'
import { createLog } from '../../lib/base/log.ts'

const secret = 'hush-hush'

t.test('no secret is written, whatever it stands in', async t => {
  const lines: string[] = []
  const log = createLog('debug', { write: line => void lines.push(line) })
  const names = [
    'authorization',
    'token',
    'secret',
    'password',
    'privateKey',
    'body',
    'bodyText',
    'bodyHtml',
    'raw',
  ]
  for (const name of [...names, 'content']) {
    const given = { [name]: secret }
    log.info(given, 'a field')
    log.info({ request: given, other: 1 }, 'a field of a field')
    log.error(Object.assign(new Error('no'), given), 'a field of an error')
    log.error({ err: Object.assign(new Error('no'), given), other: 1 }, 'the same beside others')
    log.error({ cause: Object.assign(new Error('no'), given) }, 'of one that is called otherwise')
    log.child(given).info('a field of a child')
    log.child({ request: given }).info({ other: 1 }, 'the same one level down')
  }
  t.equal(lines.length, 70)
  for (const line of lines) {
    t.notMatch(line, secret)
    // Of an error `raw` is not written at all.
    if (!line.includes('"err"')) t.match(line, /\[not logged\]/)
  }
  const [, , error] = lines
  t.match(JSON.parse(error!), { level: 'error', err: { type: 'Error', message: 'no', stack: /Error: no/ } })
})

t.test('what is given to be written stays as it is', async t => {
  const lines: string[] = []
  const log = createLog('info', { write: line => void lines.push(line) })
  const given = {
    token: secret,
    request: { token: secret },
    at: new Date(0),
    list: [1, { a: null }],
    no: undefined,
  }
  log.info(given, 'all of it')
  t.equal(given.request.token, secret)
  t.match(JSON.parse(lines[0]!), { at: '1970-01-01T00:00:00.000Z', list: [1, { a: null }], msg: 'all of it' })
  t.notOk('no' in JSON.parse(lines[0]!))
})

t.test('of what others keep from it for a while no place in the program is written', async t => {
  const lines: string[] = []
  const log = createLog('info', { write: line => void lines.push(line) })
  const cause = new Error('canceling statement due to lock timeout')
  const passing = [new StorageContended(cause, '55P03'), new StorageLocked({ cause }), new BucketOut('gone')]
  for (const err of [...passing, new BlobsFault('torn')]) log.warn({ err }, 'not done')
  const errors = lines.map(line => JSON.parse(line).err)
  t.strictSame(
    errors.map(err => typeof err.stack),
    ['undefined', 'undefined', 'undefined', 'string'],
  )
  t.match(errors[0], {
    type: 'StorageContended',
    code: '55P03',
    message: /lock timeout \(by hand, or by a commit/,
  })
})

t.test('what fails in an outage is information, and what is wrong with one message is not', async t => {
  const lines: string[] = []
  const log = createLog('info', { write: line => void lines.push(line) })
  const outages = [new StorageUnreachable(new Error('gone')), new BucketOut('gone')]
  for (const err of [...outages, new BlobsFault('torn'), new BytesElsewhere()])
    log.child({ id: 1 }).error({ err }, 'not done')
  t.match(
    lines.map(line => JSON.parse(line)),
    ['info', 'info', 'error', 'error'].map(level => ({ level, id: 1, err: {}, msg: 'not done' })),
  )
})
