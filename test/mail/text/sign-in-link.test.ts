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
    'https://there.example/?token=k3j',
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

t.test('a short token counts where words and the URL, or the subject, say what it is for', async t => {
  for (const [subject, text, url] of [
    [
      'Confirm your email',
      'Please confirm:',
      'https://there.example/users/confirm?confirmation_token=Zx81kq',
    ],
    ['Ann invited you', 'Accept invitation:', 'https://there.example/invite/c/8f7e6d5c'],
    ['Bitte bestätige deine Adresse', 'Klicke hier:', 'https://there.example/aktivieren/7d8f9a'],
    ['Activez votre compte', 'Cliquez ici :', 'https://there.example/activation/3f2a'],
    ['メールアドレスの確認', '以下のリンク', 'https://there.example/verify/ja/8831'],
    ['重置密码', '请点击', 'https://there.example/reset?k=zh91'],
  ] as const)
    t.equal(found(subject, `${text}\n${url}\n\nTerms: https://there.example/terms2026a`), url, subject)
  t.equal(found('News', 'Read on:\nhttps://there.example/story/8f7e6d5c'), null, 'words of something else')
  t.equal(found('Confirm your email', 'Confirm: https://there.example/2026'), null, 'a year')
})
