import t from 'tap'
import { destinationsKnown } from '../../../lib/base/concurrency.ts'
import {
  TlsMemory,
  tlsBrokenMs,
  tlsSessionBytes,
  tlsSessionMs,
  tlsSessions,
} from '../../../lib/courier/smtp/tls-memory.ts'

let nowMs = 1_000
const memory = new TlsMemory({ now: () => new Date(nowMs), monotonicMs: () => nowMs })
const fault = { type: 'starttls-not-supported', text: 'it hangs up' } as const

t.test('where STARTTLS is broken is known for an hour, of that host at that address alone', async t => {
  memory.noteBroken('mx.there.example', '192.0.2.1', fault)
  t.equal(memory.brokenBy('mx.there.example', '192.0.2.1'), fault)
  t.equal(memory.brokenBy('mx.there.example', '192.0.2.2'), undefined)
  t.equal(memory.brokenBy('mx.other.example', '192.0.2.1'), undefined)
  nowMs += tlsBrokenMs - 1
  t.equal(memory.brokenBy('mx.there.example', '192.0.2.1'), fault)
  nowMs += 1
  t.equal(memory.brokenBy('mx.there.example', '192.0.2.1'), undefined, 'then it is tried again')
})

t.test('a session is taken up for an hour, and a large one is not kept', async t => {
  const session = Buffer.alloc(tlsSessionBytes)
  memory.keep('a', session)
  t.equal(memory.session('a'), session)
  t.equal(memory.session('b'), undefined)
  nowMs += tlsSessionMs - 1
  t.equal(memory.session('a'), session)
  nowMs += 1
  t.equal(memory.session('a'), undefined)
  memory.keep('c', Buffer.alloc(tlsSessionBytes + 1))
  t.equal(memory.session('c'), undefined)
})

t.test('what is kept is bounded: the oldest goes', async t => {
  for (let n = 0; n <= tlsSessions; n++) memory.keep(`many ${n}`, Buffer.alloc(1))
  t.equal(memory.session('many 0'), undefined)
  t.ok(memory.session('many 1'))
  for (let n = 0; n <= destinationsKnown; n++) memory.noteBroken('mx.there.example', `${n}`, fault)
  t.equal(memory.brokenBy('mx.there.example', '0'), undefined)
  t.equal(memory.brokenBy('mx.there.example', '1'), fault)
})
