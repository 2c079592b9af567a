import t from 'tap'
import { correspondentsOf } from '../../../lib/core/outbound/correspondents.ts'

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

/** Whom a reply is written to, whom each one is copied to, and whom a reply to all is copied to besides. */
function of(more: Partial<Parameters<typeof correspondentsOf>[0]>) {
  const { main, copied, others, isInboxCopied } = correspondentsOf({ ...inbound, ...more }, self)
  const names = (people: typeof main) => people.map(({ address }) => address.split('@')[0]).join(' ')
  return [names(main), names(copied), names(others), isInboxCopied]
}

t.test('a reply goes to whom Reply-To names, else to the author', async t => {
  t.strictSame(of({}), ['bob', '', 'carl dan', false])
  t.strictSame(of({ replyTo: 'desk@theirs.example, eve@theirs.example' }), [
    'desk eve',
    '',
    'carl dan',
    false,
  ])
  t.strictSame(
    of({ replyTo: `${self}, ann+tag@ours.example` }),
    ['bob', '', 'carl dan', false],
    'to itself it does not',
  )
  t.strictSame(of({ replyTo: 'no address' }), ['bob', '', 'carl dan', false])
})

t.test('where the inbox was copied it goes to whom it was written to, and copies who wrote it', async t => {
  const copied = {
    deliveryRole: 'cc',
    headerTo: 'carl@theirs.example',
    cc: `["${self}","dan@theirs.example"]`,
  } as const
  t.strictSame(of(copied), ['carl', 'bob', 'dan', true])
  t.strictSame(of({ ...copied, replyTo: 'desk@theirs.example' }), ['carl', 'desk', 'dan', true])
  t.strictSame(of({ ...copied, headerTo: null }), ['bob', '', 'dan', false], 'nobody else is named')
})

t.test('after a message of our own it goes to that one’s recipients', async t => {
  const outbound = { direction: 'outbound', fromAddr: self, toAddr: 'bob@theirs.example' } as const
  t.strictSame(of({ ...outbound, headerTo: 'bob@theirs.example, eve@theirs.example' }), [
    'bob eve',
    '',
    'dan',
    false,
  ])
  t.strictSame(of({ ...outbound, headerTo: null }), ['bob', '', 'dan', false])
})

t.test('who has a name in the header keeps it, and no name of an object is one', async t => {
  const { main, others } = correspondentsOf(
    { ...inbound, addressNames: '{"bob@theirs.example":"Bob"}', cc: '["constructor@theirs.example"]' },
    self,
  )
  t.match(main, [{ address: 'bob@theirs.example', name: 'Bob' }])
  t.match(others, [{ name: '' }, { name: '' }])
})
