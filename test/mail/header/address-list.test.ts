import t from 'tap'
import { readAddressList } from '../../../lib/mail/header/address-list.ts'
import { mailboxes } from '../../../lib/mail/header/mailbox.ts'

t.test('lists of addresses, as they are found', async t => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['a@b.example, , c@d.example,', ['a@b.example', 'c@d.example']],
    [
      '"Doe, John" <j@b.example>, "x \\"y\\"" <k@b.example>',
      ['Doe, John <j@b.example>', 'x "y" <k@b.example>'],
    ],
    ['Team: a@x.example, B <b@x.example>;, c@y.example', ['a@x.example', 'B <b@x.example>', 'c@y.example']],
    ['undisclosed-recipients:;', []],
    ['a@b.example; c@d.example', ['a@b.example', 'c@d.example']],
    ['Pete(A nice \\) chap) <pete(his account)@silly.test(his host)>', ['Pete <pete@silly.test>']],
    ['"very.(),:;<>[]\\".unusual"@b.example', ['"very.(),:;<>[]\\".unusual"@b.example']],
    ['a@[192.0.2.1]', ['a@[192.0.2.1]']],
    ['root, <root>, Root <root>', ['root', 'Root <root>']],
    ['Ann <a@b.example, Bob <c@d.example>', ['Ann <a@b.example>', 'Bob <c@d.example>']],
    ['Ann a@b.example', ['Ann <a@b.example>']],
    ['a@b@c.example, d@e.example', ['d@e.example']],
    ['=?utf-8?Q?a=2C_b=40c?= <x@y.example>', ['a, b@c <x@y.example>']],
    ['=?utf-8?Q?=4A=C3?= =?utf-8?Q?=BC?= =?iso-8859-1*de?Q?_=FC?= <x@y.example>', ['Jü ü <x@y.example>']],
    ['=?iso-2022-jp?B?GyRCJTsbKEI=?= =?iso-2022-jp?B?GyRCJTsbKEI=?= <x@y.example>', ['セセ <x@y.example>']],
    ['=?no-such-set?Q?=41?= =?utf-8?X?a?= <x@y.example>', ['A =?utf-8?X?a?= <x@y.example>']],
    ['', []],
    [',;:', []],
  ]
  for (const [value, expected] of cases) {
    const found = mailboxes(readAddressList(value)).map(({ address, name }) =>
      name === '' ? address : `${name} <${address}>`,
    )
    t.same(found, expected, value)
  }
})

t.test('what two readers might read in two ways is named', async t => {
  for (const [value, fault] of [
    ['Ann <a@b.example, Bob <c@d.example>', 'an angle bracket that is not closed'],
    ['Ann <a@b.example', 'an angle bracket that is not closed'],
    ['Ann <a@b.example> <c@d.example>', 'two addresses in angle brackets for one name'],
    ['a@b.example; c@d.example', 'a semicolon outside of a group'],
    ['Team: a@b.example;, c@d.example;', 'a semicolon outside of a group'],
    ['Team: Other: a@b.example;', 'a colon inside of a mailbox or a group'],
    ['Ann <a@b.example>: c@d.example;', 'a colon inside of a mailbox or a group'],
    ['Ann <a@b.example> Miller', 'text behind an address in angle brackets'],
    ['Team: a@b.example', 'a group that is not closed'],
    ['Ann', 'a name without an address'],
    ['Ann a@b.example', 'words before an address without angle brackets'],
    ['a@b@c.example', 'an address with more than one @'],
    ['Team: a@b.example, C <c@d.example>;, e@f.example', undefined],
    ['<@x.example,@y.example:a@b.example>', undefined],
    ['a@b.example (Ann), "Ann; B." <c@d.example>', undefined],
  ] as const)
    t.equal(readAddressList(value).fault, fault, value)
})

t.test('what has no address is no mailbox', async t => {
  for (const value of ['<>', 'X <>', '"" < >', '<(c)>'])
    t.match(readAddressList(value), { mailboxes: [], fault: /none/ }, value)
  t.strictSame(
    readAddressList('a@b.example, <>').mailboxes.map(({ address }) => address),
    ['a@b.example'],
  )
})
