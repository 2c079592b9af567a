import t from 'tap'
import { deriveRecipients } from '../../../lib/core/outbound/correspondents.ts'

const self = 'ann@ours.example'
const inbound = {
  direction: 'inbound',
  fromAddr: 'bob@theirs.example',
  replyTo: null,
  toAddr: self,
  headerTo: `${self}, carl@theirs.example`,
  cc: '["dan@theirs.example"]',
  deliveryRole: 'to',
  addressNames: null,
} as const
const copied = {
  ...inbound,
  deliveryRole: 'cc',
  headerTo: 'carl@theirs.example',
  cc: `["${self}","dan@theirs.example"]`,
} as const

type Answered = Parameters<typeof deriveRecipients>[0]
const names = (people: readonly { address: string }[]) =>
  people.map(({ address }) => address.split('@')[0]).join(' ')

/** To, Cc, and those left out: of a reply or, with `isToAll`, a reply to all. */
function of(answered: Answered, isToAll = false, participants: readonly string[] | null = null) {
  const those = participants && new Set(participants.map(name => `${name}@theirs.example`))
  const { to, cc, notIncluded } = deriveRecipients(answered, self, { isToAll, participants: those })
  return [names(to), names(cc), names(notIncluded.map(address => ({ address })))]
}

t.test('a reply goes to Reply-To, else to the author', async t => {
  t.strictSame(of(inbound), ['bob', '', ''])
  t.strictSame(of(inbound, true), ['bob', 'carl dan', ''])
  const elsewhere = { ...inbound, replyTo: 'desk@theirs.example, eve@theirs.example' }
  t.strictSame(of(elsewhere), ['desk eve', '', ''])
  t.strictSame(of({ ...inbound, replyTo: `${self}, ann+tag@ours.example` }), ['bob', '', ''], 'not to itself')
  t.strictSame(of({ ...inbound, replyTo: 'no address' }), ['bob', '', ''])
})

t.test('a reply of an inbox that was copied goes to the people in To, with a copy to the author', async t => {
  t.strictSame(of(copied), ['carl', 'bob', ''])
  t.strictSame(of(copied, true), ['carl', 'bob dan', ''])
  t.strictSame(of({ ...copied, replyTo: 'desk@theirs.example' }), ['carl', 'desk', ''])
  t.strictSame(of({ ...copied, replyTo: 'CARL@theirs.example' }), ['carl', '', ''], 'nobody twice')
  t.strictSame(of({ ...copied, headerTo: null }, true), ['bob', 'dan', ''], 'nobody else is named')
})

t.test('a reply after our own message goes to its recipients', async t => {
  const outbound = {
    ...inbound,
    direction: 'outbound',
    fromAddr: self,
    toAddr: 'bob@theirs.example',
  } as const
  const toTwo = { ...outbound, headerTo: 'bob@theirs.example, eve@theirs.example' }
  t.strictSame(of(toTwo, true, []), ['bob eve', 'dan', ''], 'whoever is a participant')
  t.strictSame(of({ ...outbound, headerTo: null }), ['bob', '', ''])
})

t.test('a reply by thread reaches participants, and names those whom it leaves out', async t => {
  t.strictSame(of({ ...inbound, replyTo: 'thief@theirs.example' }, false, ['bob']), ['bob', '', 'thief'])
  t.strictSame(of(inbound, true, ['bob', 'dan']), ['bob', 'dan', 'carl'])
  t.strictSame(of(copied, false, ['bob']), ['bob', '', 'carl'], 'the author stands in for the people in To')
  t.strictSame(of(copied, true, ['dan', 'bob']), ['bob dan', '', 'carl'])
  t.strictSame(of(copied, false, []), ['bob', '', 'carl'], 'if nobody is left, the author is written to')
})

t.test('what a header names is few', async t => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => `v${index}@theirs.example`).join(', ')
  const code = (answered: Answered, isToAll = false) => {
    try {
      return of(answered, isToAll)[0]!.split(' ').length
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  t.equal(code({ ...inbound, replyTo: many(10) }), 10)
  t.equal(code({ ...inbound, replyTo: many(11) }), 'too_many_recipients')
  t.equal(code({ ...copied, headerTo: many(99) }), 'too_many_recipients')
  t.equal(code({ ...inbound, cc: JSON.stringify(many(51).split(', ')) }, true), 'too_many_recipients')
  t.equal(code({ ...inbound, cc: JSON.stringify(many(48).split(', ')) }, true), 1)
})

t.test('whoever has a name in the header keeps it, and no name of an object is one', async t => {
  const named = {
    ...inbound,
    addressNames: '{"bob@theirs.example":"Bob"}',
    cc: '["constructor@theirs.example"]',
  }
  const { to, cc } = deriveRecipients(named, self, { isToAll: true, participants: null })
  t.match(to, [{ address: 'bob@theirs.example', name: 'Bob' }])
  t.match(cc, [{ name: '' }, { name: '' }])
})
