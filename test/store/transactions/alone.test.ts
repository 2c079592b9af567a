import t from 'tap'
import type { WriteDb } from '../../../lib/store/dialect/dialect.ts'
import { notice } from '../../../lib/store/dialect/notices.ts'
import { alone } from '../../../lib/store/transactions/alone.ts'
import { scriptConnections, serverError } from '../../support/scripted-connections.ts'

/** Does a turn over a server that says whether it is ours; gives what came of it, and what was said. */
async function takeTurn({
  isOurs = true,
  fails = '',
  find = async () => 'found',
  finish = async (_: WriteDb, found: string) => `made of what was ${found}`,
} = {}) {
  const server = scriptConnections(({ text, name }) => {
    if (fails && text.includes(fails)) throw serverError('XX000')
    return name === 'alone' ? [{ isOurs: String(isOurs) }] : undefined
  })
  const connection = await server.take()
  const [ended] = await Promise.allSettled([alone(connection, { find, finish })])
  connection.release()
  return { ended, said: server.said, broken: server.broken }
}

t.test('a turn is a transaction, and gives what it made and is to be told', async t => {
  const { ended, said, broken } = await takeTurn({
    async finish(db, found) {
      notice(db, 'event')
      notice(db, 'queue', 'webhook')
      return found
    },
  })
  t.strictSame(ended, {
    status: 'fulfilled',
    value: {
      made: 'found',
      notices: new Map([
        ['event', new Set([''])],
        ['queue', new Set(['webhook'])],
      ]),
    },
  })
  t.match(said, ['begin isolation level read committed', /pg_try_advisory_xact_lock/, 'commit'])
  t.strictSame(broken, [])
})

t.test('nothing is left standing on its connection, however it ends', async t => {
  const refused = async () => {
    throw new Error('refused')
  }
  const rejected = { status: 'rejected', reason: { message: 'refused' } }
  let finished = 0
  const finish = async () => String(++finished)
  for (const [what, parts, wanted] of [
    ['it is the turn of another', { isOurs: false, finish }, { status: 'fulfilled', value: undefined }],
    ['what it finds fails', { find: refused, finish }, rejected],
    ['another has the turn and it fails', { isOurs: false, find: refused, finish }, rejected],
    ['the lock fails', { fails: 'advisory', finish }, { reason: { code: 'XX000' } }],
    ['its end fails', { finish: refused }, rejected],
    ['the commit fails', { fails: 'commit' }, { reason: { code: 'XX000' } }],
  ] as const) {
    const { ended, said, broken } = await takeTurn(parts)
    t.match(ended, wanted, what)
    t.equal(said.at(-1), 'rollback', what)
    t.strictSame(broken, [], what)
  }
  t.equal(finished, 0)
})
