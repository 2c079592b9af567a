import t from 'tap'
import { readAddressList } from '../../../lib/mail/header/address-list.ts'
import {
  addressNames,
  listedAddresses,
  mailboxes,
  readMailbox,
  writeMailbox,
} from '../../../lib/mail/header/mailbox.ts'

t.test('the mailboxes of a list, with names decoded and each on one line', async t => {
  const list = readAddressList('=?utf-8?Q?J=C3=B6rg?= <j@Example.com>, team: ann@example.com;, <root>')
  t.strictSame(mailboxes(list), [
    { address: 'j@example.com', name: 'Jörg' },
    { address: 'ann@example.com', name: '' },
    { address: 'root', name: '' },
  ])
})

t.test('names by address, the first of each, and none that only repeats the address', async t => {
  const names = (...pairs: [address: string, name: string][]) =>
    Object.entries(addressNames(pairs.map(([address, name]) => ({ address, name }))) ?? { none: '' })
  t.strictSame(names(['Ann@example.com', 'Ann']), [['ann@example.com', 'Ann']])
  t.strictSame(names(['ann@example.com', 'Ann'], ['ANN@example.com', 'Other']), [['ann@example.com', 'Ann']])
  t.strictSame(names(['Ann@example.com', 'ann@EXAMPLE.com']), [['none', '']])
  t.strictSame(names(['ann@example.com', '']), [['none', '']])
  t.strictSame(names(), [['none', '']])
})

t.test('the one mailbox that a client names, and how it is written', async t => {
  t.strictSame(readMailbox('Ann <ann@example.com>'), { address: 'ann@example.com', name: 'Ann' })
  t.equal(readMailbox('ann@example.com, bob@example.com'), undefined)
  t.equal(readMailbox('team: ann@example.com;'), undefined)
  t.equal(readMailbox('ann@example.com\r\nBcc: x@example.com'), undefined)
  t.equal(readMailbox(''), undefined)
  for (const name of ['', 'Ann', "Ann O'Neil-Jörg", 'Ann, "the" first', 'a\\b']) {
    const mailbox = { address: 'ann@example.com', name }
    t.strictSame(readMailbox(writeMailbox(mailbox)), mailbox, name)
  }
  t.equal(writeMailbox({ address: 'ann@example.com', name: 'A, b' }), '"A, b" <ann@example.com>')
})

t.test('the addresses of a text that lists them', async t => {
  t.strictSame(listedAddresses(''), [])
  t.strictSame(listedAddresses('a@example.com, b@example.com'), ['a@example.com', 'b@example.com'])
  t.strictSame(listedAddresses('"a, b"@example.com, c@example.com'), ['"a, b"@example.com', 'c@example.com'])
})
