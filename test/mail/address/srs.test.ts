import t from 'tap'
import { parseAddress } from '../../../lib/mail/address/address.ts'
import { isRewritten, rewriteSender } from '../../../lib/mail/address/srs.ts'

const usual = {
  secret: 'secret',
  purpose: 'delivery',
  sender: 'Bob.Smith+x@Theirs.example',
  domain: 'ours.example',
  at: new Date('2026-11-21T15:00:00Z'),
}

t.test('names the sender, in lower case, at the domain that bounces come back to', async t => {
  const address = rewriteSender(usual)
  t.match(address, /^srs0=[a-z2-7]{10}=[a-z2-7]{2}=theirs\.example=bob\.smith\+x@bounce\.ours\.example$/)
  t.equal(rewriteSender(usual), address, 'the same of the same')
  t.equal(rewriteSender({ ...usual, sender: usual.sender.toUpperCase() }), address)
})

t.test('every part is in the hash', async t => {
  const hashOf = (changes: Partial<typeof usual>) =>
    /^srs0=([a-z2-7]+)=/.exec(rewriteSender({ ...usual, ...changes }))![1]!
  const hashes = [
    {},
    { secret: 'other' },
    { purpose: 'another' },
    { sender: 'bob.smith@theirs.example' },
    { sender: 'bob.smith+x@theirs2.example' },
    { at: new Date('2026-11-22T00:00:00Z') },
  ].map(hashOf)
  t.equal(new Set(hashes).size, hashes.length, hashes.join())
})

t.test('the day changes at midnight UTC and comes again after 1024 days', async t => {
  const dayOf = (at: string) => rewriteSender({ ...usual, at: new Date(at) }).split('=')[2]
  t.equal(dayOf('2026-11-21T00:00:00Z'), dayOf('2026-11-21T23:59:59Z'))
  t.not(dayOf('2026-11-21T00:00:00Z'), dayOf('2026-11-22T00:00:00Z'))
  t.equal(dayOf('2026-11-21T00:00:00Z'), dayOf('2029-09-10T00:00:00Z'))
})

t.test('is an address that anybody can write to, whatever the sender was', async t => {
  const long = 'x'.repeat(64)
  const senders = [
    'a@b.example',
    `${'l'.repeat(30)}@theirs.example`,
    `${'l'.repeat(31)}@theirs.example`,
    `${long}@theirs.example`,
    `bounces+123-456=${long.slice(0, 40)}@mail.theirs.example`,
    `a@${'d'.repeat(60)}.${'e'.repeat(60)}.example`,
    '"quoted one"@theirs.example',
    '"a@b"@theirs.example',
    'user%other!host@theirs.example',
    'jörg@theirs.example',
    'a@[192.0.2.1]',
    'postmaster',
    'srs0=aaaaaaaaaa=bb=x.example=a@bounce.y.example',
  ]
  const made = senders.map(sender => rewriteSender({ ...usual, sender }))
  for (const [index, address] of made.entries()) {
    const { localPart = '', domain } = parseAddress(address) ?? {}
    t.equal(domain, 'bounce.ours.example', senders[index]!)
    t.ok(localPart.length <= 64, `${localPart.length} octets`)
    t.match(localPart, /^srs0=[a-z0-9._+=-]+$/)
    t.equal(address, address.toLowerCase())
    t.ok(isRewritten(address) && isRewritten(address.toUpperCase()))
  }
  t.equal(new Set(made).size, made.length)
  t.match(made[1], /^(?=.{64}@)srs0=.*=theirs\.example=l{30}@/, 'with exactly 64 octets it is told')
  t.notMatch(made[2], 'theirs.example', 'with 65 it is not')
})

t.test('what is none', async t => {
  for (const address of ['', 'srs0=x@theirs.example', 'a@bounce.ours.example', 'srs0=@bounce.ours.example'])
    t.notOk(isRewritten(address), address)
})
