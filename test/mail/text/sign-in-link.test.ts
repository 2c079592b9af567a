import t from 'tap'
import { findLinks } from '../../../lib/mail/text/links.ts'
import { findSignInLink } from '../../../lib/mail/text/sign-in-link.ts'

const link = (name: string) => `https://there.example/${name}?token=k3j5h2k3j5h2k3j5h2k3`
const [one, other] = [link('one'), link('other')]

/** What is found in a text, or in HTML. */
function found(subject: string, body: string): string | null {
  const html = body.startsWith('<') ? body : ''
  const text = body.replace(/<[^>]*>/g, ' ')
  return findSignInLink({ subject, text, html, links: findLinks({ text, html }) })
}

const a = (url: string, words: string) => `<a href="${url}">${words}</a>`

t.test('a link is the one that was sent for when its words or the subject say what it does', async t => {
  t.equal(found('Hello', `<p>${a(one, 'Sign in')} It expires.</p>`), one, 'its words')
  t.equal(found('Hello', `<p>${a(one, 'Sign in')}</p>`), null, 'nothing says that the mail is about a link')
  t.equal(found('Sign in to There', `<p>${a(one, 'Here')}</p>`), one, 'the subject')
  t.equal(
    found('Hello', `<p>You can sign in later. It expires.</p>${a(one, 'Here')}`),
    null,
    'words beside it are not its own',
  )
  t.equal(
    found('Sign in to There', `<p>${a(other, 'Here')} ${a(one, 'Sign in')}</p>`),
    one,
    'its words before the subject',
  )
  t.equal(found('Sign in to There', `<p>${a(other, 'Here')} ${a(one, 'There')}</p>`), null, 'of two neither')
  t.equal(
    found('Hello', `<p>${a(other, 'Sign in')} ${a(one, 'Sign in')} It expires.</p>`),
    null,
    'of two neither',
  )
  t.equal(found('Sign in to There', `<p>${a(one, 'Help')}</p>`), null, 'what is of another kind')
})

t.test('it holds what nobody can guess', async t => {
  for (const url of [
    'https://there.example/k3j5h2k3j5h2k3j5/confirm',
    'https://there.example/#k3j5h2k3j5h2k3j5',
    'https://there.example/?a=b&token=k3j5h2k3j5h2k3j5',
  ])
    t.equal(found('Sign in', a(url, 'Sign in')), url)
  for (const url of [
    'https://there.example/sign-in',
    'https://there.example/?token=k3j5h2k3j5h2k3j',
    'https://there.example/?token=kkjjhhkkjjhhkkjjhhkk',
    'https://there.example/?token=11223344556677889900',
  ])
    t.equal(found('Sign in', a(url, 'Sign in')), null, url)
})

t.test('in a text its words stand before it, and near', async t => {
  t.equal(found('Hello', `To sign in open\n${one}\nIt expires.`), one)
  t.equal(found('Hello', `Open\n${one}\nto sign in. It expires.`), null, 'behind it')
  const far = (count: number) => `To sign in${' -'.repeat(count / 2)}\n${one} expires`
  t.equal(found('Hello', far(180)), one)
  t.equal(found('Hello', far(220)), null, 'far before it')
})
