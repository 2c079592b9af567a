import t from 'tap'
import { withoutAddresses, withoutMessageWords } from '../../../lib/mail/report/repeated-words.ts'

t.test('what is in quotes, looks like a file or is a link is not the words of the reply', async t => {
  const said = (text: string) => withoutMessageWords(text).replace(/ +/g, ' ').trim()
  t.equal(said('the subject "mailbox full" is refused'), 'the subject x is refused')
  t.equal(said("“mailbox full” and «user unknown» and 'spam'"), 'x and x and x')
  t.equal(said("the text 'that isn't ours' is refused"), 'the text x is refused', 'an apostrophe is within')
  t.equal(said("user doesn't exist, it's gone"), "user doesn't exist, it's gone", 'nothing is in quotes')
  t.equal(said("'tis a user that isn't"), "'tis a user that isn't", 'a quote that is not closed')
  t.equal(said('a “user “unknown'), 'a “user “unknown', 'nor here, nor is it looked for again')
  t.equal(said("an inch \" and 'spam'"), 'an inch " and x', 'others are, behind it')
  t.equal(said('"a""b"'), 'x x', 'one beside the other')
  t.equal(said('"" is "full"'), 'x is x', 'one with nothing in it')
  t.equal(said('file user-unknown.exe is refused'), 'file x is refused')
  t.equal(said('see https://there.example/user?unknown for more'), 'see x for more')
  t.equal(said('550 5.1.1 <x@there.example> unknown'), '550 5.1.1 <x@there.example> unknown')
  t.equal(said(''), '')
})

t.test('addresses that a reply repeats stand in it as ones that say nothing', async t => {
  const own = 'b-xyz@bounce.full.example.com'
  const said = (text: string, mailFrom = own) =>
    withoutAddresses(text, { mailFrom, rcptTo: 'Spam@User.Example' })
  t.equal(said('No SPAM@user.example here'), 'no a@there.example here')
  t.equal(said('notspam@user.example'), 'notspam@user.example', 'a part of another address is none')
  t.equal(said('spam@user.example.net'), 'spam@user.example.net')
  t.equal(said('spam@user.example.'), 'a@there.example.', 'the end of a sentence')
  t.equal(said(`from <${own}>`), `from <b-${'0'.repeat(24)}@bounce.ours.example>`)
  t.equal(
    said('bounce.full.example.com, full.example.com, example.com'),
    'ours.example, ours.example, ours.example',
  )
  t.equal(said('the com'), 'the com', 'a name of one label is nobody alone')
  t.equal(said('orcpt=rfc822;full ENVID=unknown rest').trim().split(/ +/).at(-1), 'rest')
  t.notMatch(said('orcpt=rfc822;full envid=unknown rest'), /full|unknown/)
  t.equal(said('example.com', ''), 'example.com', 'the null reverse-path has no domain')
})
