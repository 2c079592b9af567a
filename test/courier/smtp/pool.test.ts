import t from 'tap'
import {
  SessionPool,
  smtpIdleSessions,
  smtpIdleSessionsPerAddress,
  smtpPartingSessions,
  smtpPartingSessionsPerAddress,
} from '../../../lib/courier/smtp/pool.ts'
import type { SmtpSession } from '../../../lib/courier/smtp/session.ts'

/** A session between two messages, of which the pool needs no more than this. */
function sessionWith(address: string, ended: string[]): SmtpSession {
  const session = {
    host: 'mx.there.example',
    address,
    lane: '',
    tls: undefined,
    isOpen: true,
    hasSaidAll: true,
    messages: 1,
    onceClosed: () => () => {},
    quit: async () => void ended.push(address),
  }
  return session as unknown as SmtpSession
}

t.test('no more sessions wait than may, to one address and in all', async t => {
  const pool = new SessionPool()
  const ended: string[] = []
  t.teardown(() => pool.close())
  const give = (address: string, count: number) => {
    for (let one = 0; one < count; one++) pool.give(sessionWith(address, ended))
  }
  give('192.0.2.1', smtpIdleSessionsPerAddress + 3)
  t.strictSame(ended, Array(3).fill('192.0.2.1'), 'those above its share are ended')
  t.ok(smtpIdleSessionsPerAddress <= 20)

  ended.length = 0
  const others = Math.ceil(smtpIdleSessions / smtpIdleSessionsPerAddress)
  for (let host = 2; host < 2 + others; host++) give(`192.0.2.${host}`, smtpIdleSessionsPerAddress)
  const waiting = (others + 1) * smtpIdleSessionsPerAddress - ended.length
  t.equal(waiting, smtpIdleSessions)
  t.ok(smtpIdleSessions <= 100)
})

t.test('a session is for what was demanded of it, and in plaintext for its own host', async t => {
  const pool = new SessionPool()
  t.teardown(() => pool.close())
  const give = (more: Partial<SmtpSession>) =>
    pool.give({ ...sessionWith('192.0.2.1', []), ...more } as SmtpSession)
  give({ lane: 'proven', tls: 'TLSv1.3' })
  t.equal(pool.take('mx.there.example', '192.0.2.1', ''), undefined, 'of another lane')
  t.equal(pool.take('mx.there.example', '192.0.2.2', 'proven'), undefined, 'of another address')
  t.ok(pool.take('mx.other.example', '192.0.2.1', 'proven'), 'by another name of the address')
  let isClosed = false
  const close = () => {
    isClosed = true
  }
  give({ lane: 'anything', hasSaidAll: false, close })
  t.equal(pool.take('mx.there.example', '192.0.2.1', 'anything'), undefined, 'a message is on its way in it')
  t.ok(isClosed)
  give({ lane: 'anything' })
  t.equal(pool.take('mx.there.example', '192.0.2.1', 'proven'), undefined, 'nothing was proven in it')
  t.equal(pool.take('mx.other.example', '192.0.2.1', 'anything'), undefined, 'TLS may succeed there')
  t.ok(pool.take('mx.there.example', '192.0.2.1', 'anything'))
})

/** A session with a peer that answers no last word: it ends when it is closed. */
function silentSession(address: string, closed: string[]): SmtpSession {
  let end = () => {}
  const over = new Promise<boolean>(resolve => {
    end = () => resolve(false)
  })
  const close = () => {
    closed.push(address)
    end()
  }
  return { ...sessionWith(address, []), reset: () => over, quit: () => over, close } as unknown as SmtpSession
}

t.test('no more sessions wait for an answer to RSET or QUIT than may, to one address and in all', async t => {
  const pool = new SessionPool()
  const closed: string[] = []
  const share = smtpPartingSessionsPerAddress
  for (let one = 0; one < share + 3; one++) void pool.undo(silentSession('192.0.2.1', closed))
  t.strictSame(closed, Array(3).fill('192.0.2.1'), 'those above its share are ended at once')
  t.ok(share <= 20)

  const others = Math.ceil(smtpPartingSessions / share)
  for (let host = 2; host < 2 + others; host++)
    for (let one = 0; one < share; one++) void pool.undo(silentSession(`192.0.2.${host}`, closed))
  t.equal((others + 1) * share + 3 - closed.length, smtpPartingSessions)
  t.ok(smtpPartingSessions <= 100)
  await pool.close()
  t.equal(closed.length, (others + 1) * share + 3, 'the end of the pool is the end of all')
})

t.test('whoever waits for room can be ended', async t => {
  const pool = new SessionPool()
  t.teardown(() => pool.close())
  const closed: string[] = []
  const given = new AbortController()
  for (const isBefore of [false, true]) {
    pool.give(silentSession('192.0.2.1', closed))
    const room = pool.makeRoom('192.0.2.1', given.signal)
    if (!isBefore) given.abort()
    await room
  }
  t.equal(closed.length, 2)
})
