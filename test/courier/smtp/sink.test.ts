import t from 'tap'
import { without } from '../../support/peers.ts'
import { startSmtpSink } from '../../support/smtp-sink.ts'
import { delivery, hosts, loopback } from '../loopback.ts'

const raw = Buffer.from(
  `From: a@here.example\r\nSubject: 4 kB\r\n\r\n${'a line of the text, 64 bytes long with its end, as text is\r\n'.repeat(66)}`,
)

t.test('smtp-sink takes what ten couriers carry', { skip: without('smtp-sink') }, async t => {
  const { courier, port } = await loopback(t, [undefined])
  const sink = await startSmtpSink(hosts[0], port)
  t.teardown(() => sink.stop())
  const count = 1000
  const worker = async () => {
    let delivered = 0
    for (let each = 0; each < count / 10; each++) {
      const outcome = await courier.carry(delivery({ sizeBytes: raw.length }), raw)
      if (outcome.result === 'delivered') delivered++
      else t.fail(JSON.stringify(outcome))
    }
    return delivered
  }
  const delivered = await Promise.all(Array.from({ length: 10 }, worker))
  t.equal(
    delivered.reduce((sum, each) => sum + each, 0),
    count,
  )
  await sink.taken(count)
})

t.test('smtp-sink that refuses', { skip: without('smtp-sink') }, async t => {
  const cases: readonly (readonly [string[], object])[] = [
    [['-r', 'RCPT'], { result: 'transient', code: 450 }],
    [['-f', 'RCPT'], { result: 'permanent', code: 500 }],
    [['-f', '.'], { result: 'permanent', code: 500 }],
    [['-f', 'CONNECT'], { result: 'transient' }],
    [['-q', 'DATA'], { result: 'transient', enhanced: '4.4.2' }],
    [['-Q', 'MAIL'], { result: 'transient', code: 421 }],
    [['-e'], { result: 'delivered' }],
    [['-p'], { result: 'delivered' }],
    // It hangs up while the message comes: its 550 may be lost with the connection, and then it is for later.
    [['-A', '0'], { result: /^permanent$|^transient$/ }],
  ]
  for (const [args, expected] of cases) {
    const { courier, port } = await loopback(t, [undefined])
    const sink = await startSmtpSink(hosts[0], port, args)
    t.match(await courier.carry(delivery({ sizeBytes: raw.length }), raw), expected, args.join(' '))
    await sink.stop()
  }
})
