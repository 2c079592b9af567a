import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readMessage } from '../../../lib/mail/message/read.ts'
import { htmlToText } from '../../../lib/mail/text/html.ts'
import { newText } from '../../../lib/mail/text/reply-text.ts'
import { manyTimes } from '../../support/hostile.ts'

const replyText = (message: { subject?: string; text: string; html: string }) =>
  newText({ subject: '', ...message }).text
const ofText = (text: string) => replyText({ text, html: '' })

t.test('the line above a quote, in many languages and broken by mail programs', async t => {
  for (const line of [
    'On Mon, 4 May 2026 at 10:15, Bob Ross <bob@example.net> wrote:',
    'On May 4, 2026, at 10:15 AM, Bob Ross\n<bob@example.net>\nwrote:',
    'On 4 May 2026 at 10:15 UTC, Bob Ross wrote:',
    'Am 04.05.2026 um 10:15 schrieb Bob Ross:',
    'Am Mo., 4. Mai 2026 um 10:15 Uhr schrieb Bob Ross <bob@example.net>:',
    'Le lun. 4 mai 2026 à 10:15, Bob Ross <bob@example.net> a écrit :',
    'El lun, 4 may 2026 a las 10:15, Bob Ross (<bob@example.net>) escribió:',
    'Em seg., 4 de mai. de 2026 às 10:15, Bob Ross <bob@example.net> escreveu:',
    'Il giorno lun 4 mag 2026 alle ore 10:15 Bob Ross <bob@example.net> ha scritto:',
    'Op ma 4 mei 2026 om 10:15 schreef Bob Ross <bob@example.net>:',
    'Den mån 4 maj 2026 kl 10:15 skrev Bob Ross <bob@example.net>:',
    'pon., 4 maj 2026 o 10:15 Bob Ross <bob@example.net> napisał(a):',
    'W dniu 4.05.2026 o 10:15, Bob Ross pisze:',
    'пн, 4 мая 2026 г. в 10:15, Bob Ross <bob@example.net>:',
    '04.05.2026 10:15, Bob Ross пишет:',
    '4 May 2026 Pzt, 10:15 tarihinde Bob Ross <bob@example.net> şunu yazdı:',
    '于2026年5月4日周一 10:15，Bob Ross <bob@example.net>写道：',
    'Bob Ross <bob@example.net> 于2026年5月4日周一 10:15写道：',
    '在 2026年5月4日，上午10:15，Bob Ross <bob@example.net> 写道：',
    '2026年5月4日(月) 10:15 Bob Ross <bob@example.net>:',
    '2026년 5월 4일 (월) 오전 10:15, Bob Ross <bob@example.net>님이 작성:',
    'Vào Th 2, 4 thg 5, 2026 vào lúc 10:15 Bob Ross <bob@example.net> đã viết:',
    'Op ma 4 mei 2026 om 10:15 heeft Bob Ross <bob@example.net> het volgende geschreven:',
    'man. 4. mai 2026 kl. 10:15 skrev Bob Ross <bob@example.net>:',
    'Den man. 4. maj 2026 kl. 10.15 skrev Bob Ross <bob@example.net>:',
    'ma 4.5.2026 klo 10.15 Bob Ross (bob@example.net) kirjoitti:',
    'Bob Ross kirjoitti 4.5.2026 kello 10.15:',
    'Þann mán., 4. maí 2026 kl. 10:15 skrifaði Bob Ross <bob@example.net>:',
    'Wiadomość napisana przez Bob Ross <bob@example.net> w dniu 4 maj 2026, o godz. 10:15:',
    'po 4. 5. 2026 v 10:15 odesílatel Bob Ross <bob@example.net> napsal:',
    'po 4. 5. 2026 o 10:15 Bob Ross <bob@example.net> napísal(a):',
    'V V pon., 4. maj 2026 ob 10:15 je oseba Bob Ross <bob@example.net> napisala:',
    'pon, 4. svi 2026. u 10:15 Bob Ross <bob@example.net> napisao je:',
    'пон, 4. мај 2026. у 10:15 Bob Ross <bob@example.net> је написао/ла:',
    'Bob Ross <bob@example.net> ezt írta (időpont: 2026. máj. 4., H, 10:15):',
    'În lun., 4 mai 2026 la 10:15, Bob Ross <bob@example.net> a scris:',
    'Missatge de Bob Ross <bob@example.net> del dia dl., 4 de maig 2026 a les 10:15:',
    'O luns, 4 de maio de 2026 ás 10:15, Bob Ross (<bob@example.net>) escribiu:',
    'Bob Ross (<bob@example.net>) kirjutas kuupäeval E, 4. mai 2026 kell 10:15:',
    'pirmd., 2026. g. 4. maijs, plkst. 10:15 — lietotājs Bob Ross (<bob@example.net>) rakstīja:',
    '2026-05-04, pr, 10:15 Bob Ross <bob@example.net> rašė:',
    'пн, 4 трав. 2026 р. о 10:15 Bob Ross <bob@example.net> пише:',
    'На пн, 4.05.2026 г. в 10:15 Bob Ross <bob@example.net> написа:',
    'Στις Δευ 4 Μαΐ 2026 στις 10:15 π.μ., ο/η Bob Ross <bob@example.net> έγραψε:',
    'Bob Ross <bob@example.net>, 4 May 2026 Pzt, 10:15 tarihinde şunu yazdı:',
    '‫בתאריך יום ב׳, 4 במאי 2026 ב-10:15 מאת ‪Bob Ross‬‏ <‪bob@example.net‬‏>:‬',
    'في الاثنين، ٤ مايو ٢٠٢٦ في ١٠:١٥ ص تمت كتابة ما يلي بواسطة Bob Ross <bob@example.net>:',
    'در تاریخ دوشنبه ۴ مهٔ ۲۰۲۶، ۱۰:۱۵ Bob Ross <bob@example.net> نوشت:',
    'सोम, 4 मई 2026 को 10:15 बजे को Bob Ross <bob@example.net> ने लिखा:',
    'ในวันที่ จ. 4 พ.ค. 2026 เวลา 10:15 Bob Ross <bob@example.net> เขียนว่า:',
    'Pada tanggal Sen, 4 Mei 2026 pukul 10.15 Bob Ross <bob@example.net> menulis:',
    'Noong Lun, May 4, 2026 nang 10:15 AM, sinulat ni Bob Ross <bob@example.net> ang:',
    'Am 04.05.26 um 10:15 schrieb bob@example.net:',
    '--- On Mon, 5/4/26, Bob Ross <bob@example.net> wrote:',
    '---- On Mon, 04 May 2026 10:15:00 +0200 Bob Ross <bob@example.net> wrote ----\n',
    'Le 04/05/2026 à 10:15, Bob Ross a écrit :',
    'On 2026-05-04 10:15, Bob Ross wrote:',
    '"Bob Ross" <bob@example.net> schrieb am 04.05.2026 um 10:15:',
  ]) {
    t.equal(ofText(`Thank you.\n\n${line}\n\n> old\n> text\n`), 'Thank you.', line)
    t.equal(ofText(`Thank you.\n\n${line}\n\nold text, not marked\n`), 'Thank you.', `${line} without marks`)
    t.equal(
      ofText(`${line}\n> old\n\nMy answer\n\n> more\n\nand this\n`),
      'My answer\n\nand this',
      `${line} above`,
    )
  }
})

t.test('without a date such a line stands only above what is marked', async t => {
  for (const line of [
    'Bob Ross wrote:',
    'Bob Ross <bob@example.net> a écrit :',
    'Bob schrieb:',
    'Bob さんは書きました:',
  ]) {
    t.equal(ofText(`Thank you.\n\n${line}\n> old\n\nMore`), 'Thank you.\n\nMore', line)
  }
  const own = 'This is what she wrote:\n\nAll is well.'
  t.equal(ofText(own), own)
})

t.test('the block above what Outlook quotes', async t => {
  for (const block of [
    '-----Original Message-----\nFrom: Bob\nSent: Monday\nTo: Ann\nSubject: x',
    '________________________________\nFrom: Bob Ross <bob@example.net>\nSent: Monday, May 4, 2026\nTo: Ann\nSubject: x',
    'Von: Bob Ross <bob@example.net>\nGesendet: Montag, 4. Mai 2026\nAn: Ann\nBetreff: x',
    'De : Bob Ross <bob@example.net>\nEnvoyé : lundi 4 mai 2026\nÀ : Ann\nObjet : x',
    'De: Bob\nEnviado el: lunes\nPara: Ann\nAsunto: x',
    'Da: Bob\nInviato: lunedì\nA: Ann\nOggetto: x',
    'Van: Bob\nVerzonden: maandag\nAan: Ann\nOnderwerp: x',
    'От: Bob\nОтправлено: понедельник\nКому: Ann\nТема: x',
    '发件人: Bob <bob@example.net>\n发送时间: 2026年5月4日\n收件人: Ann\n主题: x',
    '差出人: Bob\n送信日時: 2026年5月4日\n宛先: Ann\n件名: x',
    '*From:* Bob\n*Sent:* Monday\n*To:* Ann\n*Subject:* x',
    '-----Ursprüngliche Nachricht-----\nold',
  ]) {
    t.equal(ofText(`Yes.\n\n${block}\n\nold text\n`), 'Yes.', block)
  }
  const block = 'Von: Bob Ross <bob@example.net>\nGesendet: Montag, 4. Mai 2026\nAn: Ann\nBetreff: x'
  for (const own of ['See below ---', '--- See below'])
    t.equal(ofText(`${own}\n\n${block}\n\nold text\n`), own, 'no words between rules')
})

t.test('signatures, and what is none', async t => {
  for (const [text, reply] of [
    ['Hi\n\n-- \nAnn\nExample Inc', 'Hi'],
    ['Hi\n\nSent from my iPhone', 'Hi'],
    ['Hi\n\nVon meinem iPhone gesendet', 'Hi'],
    ['Hi\n\nGet Outlook for iOS<https://aka.ms/o0ukef>', 'Hi'],
    ['Hi\n\nEnvoyé de mon iPhone\n', 'Hi'],
    ['Hi\n\n发自我的iPhone', 'Hi'],
    ['Hi\n\nAnn Lee\nann@example.com\n+1 555 010 9999\nwww.example.com', 'Hi'],
    ['Sent from my desk, this is easier.', 'Sent from my desk, this is easier.'],
    ['Options:\n- one\n- two', 'Options:\n- one\n- two'],
    ['From: Berlin\nTo: Paris\nDate: 4 May', 'From: Berlin\nTo: Paris\nDate: 4 May'],
    // Without a subject the block says who wrote by an address, and in From.
    ['Hi\n\nFrom: bob@example.net\nTo: Ann\nDate: 4 May 2026\n\nold', 'Hi'],
    [
      'Hi\n\nFrom: Berlin\nTo: ann@example.com\nDate: 4 May 2026\n\nnew',
      'Hi\n\nFrom: Berlin\nTo: ann@example.com\nDate: 4 May 2026\n\nnew',
    ],
    ['On Monday I wrote a list:\n\n1. this', 'On Monday I wrote a list:\n\n1. this'],
    ['a -- b', 'a -- b'],
    ['Thanks,\nAlex', 'Thanks,\nAlex'],
    ['> only\n> a quote', '> only\n> a quote'],
    ['', ''],
  ] as const) {
    t.equal(ofText(text), reply, text)
  }
})

const attributed = 'On Mon, 4 May 2026 at 10:15, Bob Ross <bob@example.net> wrote:\n> old'

t.test('marked lines and indented blocks without an attribution are what the sender wrote', async t => {
  for (const text of [
    'Please print this on the card:\n\n> Happy birthday\n> From all of us\n\nThank you',
    'The session:\n\n>>> import lamp\n>>> lamp.on()\nTrue',
    'Der Fehler ist:\n> Zugriff verweigert\n\nWas nun?',
    'Voici mes données :\n> IBAN FR00 1234',
    'This is what Ann and Bob said to me on the phone:\n> we come',
    '| Lamp | Price |\n| --- | --- |\n| A | 30 |',
    '| Ann <ann@example.net> | 4 May 2026, 09:30 |\n| Bob <bob@example.net> | 5 May 2026, 10:00 |\n| Cy | later |',
  ]) {
    t.equal(ofText(text), text)
    t.equal(ofText(`${text}\n\n${attributed}`), text, 'above a quote')
  }
  for (const [html, kept] of [
    ['<p>Name: Ann</p><blockquote>My lamp is broken.</blockquote><p>Bye</p>', 'My lamp is broken.'],
    [
      '<div>It is:</div><blockquote style="margin:0 0 0 40px"><div>12 High Street</div></blockquote><br><div class="gmail_quote"><div class="gmail_attr">On Mon, Oct 5, 2026 at 9:00 AM Bob &lt;bob@example.net&gt; wrote:</div><blockquote class="gmail_quote">Where to?</blockquote></div>',
      '12 High Street',
    ],
    [
      '<p>I read:</p><blockquote cite="https://example.com/page">Lamps are back</blockquote>',
      'Lamps are back',
    ],
  ] as const) {
    const got = replyText({ subject: 'Re: x', text: htmlToText(html), html })
    t.match(got, kept)
    t.notMatch(got, 'Where to?')
  }
})

t.test('the first message of a thread quotes nothing', async t => {
  const first = { inReplyTo: [], references: [], html: '' }
  const text = `Is this from you?\n\n${attributed}\n\nFrom: a@example.com\nDate: today\nTo: b@example.com\nSubject: x\n\nend`
  t.equal(newText({ ...first, subject: 'A question', text }).text, text)
  t.equal(newText({ ...first, subject: 'A question', text: 'Hello\n\n-- \nAnn Lee' }).text, 'Hello')
  for (const subject of ['Re: x', '[list] AW: x', 'Antw: x', '回复: x'])
    t.equal(newText({ ...first, subject, text: `Yes\n\n${attributed}` }).text, 'Yes', subject)
  t.equal(newText({ ...first, references: ['a@b'], subject: 'x', text: `Yes\n\n${attributed}` }).text, 'Yes')
})

t.test('a rule starts a signature only above what looks like one and ends the message', async t => {
  for (const text of [
    'Done.\n\n---\n\n**Summary**\n\n- lamp ordered\n- price 30 euros',
    'Hello,\n\n---\n\nWHO ASKS\n\nName: Jo Example\n\n---\n\nWHICH FLAT\n\n1 Lamp Street, second floor',
    'Anfrage\n\n--\n\nName: Jo\nTelefon: +49 30 1234567\nNachricht: Ist die Wohnung frei?',
    'Premier point.\n\n—\n\nLe second point demande un peu plus de texte. Il en a.',
    'Fix the lamp\n\nIt was off.\n---\n lamp.c | 2 +-\n 1 file changed\n\ndiff --git a/lamp.c b/lamp.c\n--- a/lamp.c\n+++ b/lamp.c\n@@ -1 +1 @@\n-off\n+on',
    'One\n\n____\n\n# Two\n\ntext',
    '第一部分\n\n---\n\n第二部分的内容在这里，请看一下。',
    `Intro\n-- \n${'A whole paragraph of text that goes on for a while, and then it ends here as it should do.\n\n'.repeat(3).trim()}`,
    'My data are:\n\nann@example.com\n+1 555 010 9999\nwww.example.com',
    'From the form\n\nName: Ann\nE-mail: ann@example.com\nPhone: +1 555 010 9999',
    'Please buy:\n\n- Milk',
  ])
    t.equal(ofText(text), text)
  for (const signature of [
    '-- \nAnn',
    '--\nAnn Lee\nExample Inc',
    '---\nAnn Lee\nCEO, Example GmbH\nTel: +49 30 1234567\nann@example.com',
    '—\nAna López\nwww.example.com',
    '--\n田中太郎',
    '____\nIvan Petrov\n+7 495 123 45 67',
    '-- \nAnn\n\nThis e-mail is confidential and for the intended recipient only. If you received it in error, delete it please.',
  ])
    t.equal(ofText(`Yes.\n\n${signature}`), 'Yes.', signature)
})

t.test('attributions that programs broke, shortened, or marked in their own way', async t => {
  for (const quote of [
    'On Mon, 23 Nov 2026 09:12:43 -0200 Bob <bob@example.net> wrote\nold',
    'Am 23.11.2026 um 09:12 schrieb Bob Ross <bob@example.net>\nold',
    'Le 23 nov. 2026 à 09:12, Bob <bob@example.net> a écrit\nold',
    'On Mon, Nov 23, 2026 at 9:12 AM, Bob Ross wrote\n\nold',
    '2026-11-23 9:12 GMT+01:00 Bob The Very Long <\nbob@example.net>:\nold',
    'El lun, 23 nov 2026 a las 9:12, Bob (<bob@\nexample.net>) escribió:\nold',
    'On Mon, Nov 23, 2026 at 9:12 AM Bob <bob@example.net\n> wrote:\nold',
    'Bob <bob@example.net> wrote:\nold',
    'Bob Ross <bob@example.net> a écrit :\nold',
    'bob@example.net schrieb:\nold',
    '>Понедельник, 23 ноября 2026, 9:12 +03:00 от Bob <bob@example.net>:\n>\nold',
    'On Thursday, October 1, 2015 at 10:11 AM, Ryan Example said:\n\n\n> old\n> more',
    'Am Donnerstag, 1. Oktober 2015 um 10:11, sagte Ryan Example:\n> old',
    'Ryan Example said:\n> old',
    'Bob <bob@example.net> wrote:\nB> old\nB> Bob',
    'Bob Ross schrieb:\nBR> old\nBR>> older',
    'On 4 May 2026, Bob wrote:\n| old\n|\n| Bob',
    'On 4 May 2026, Bob wrote:\n> Is Tuesday fine? We would meet in room four on the second floor of the\nmain building.\n> Bob',
    'On 4 May 2026, Bob wrote:\n> Is Tuesday fine? We would meet in room four on the second floor of the\nmain building.',
  ])
    t.equal(ofText(`Yes, fine.\n\n${quote}`), 'Yes, fine.', quote)
  t.equal(
    ofText(
      'On 4 May 2026, Bob wrote:\n> Is Tuesday fine for all of you, in the main building as it was?\nYes.\n> And Ann?\nToo.',
    ),
    'Yes.\n\nToo.',
  )
})

t.test('a quote that only the HTML tells', async t => {
  const html =
    '<div>Fine.</div><div class="gmail_quote"><div class="gmail_attr">Nk 2026 Bob akandika</div><div>old</div></div>'
  t.equal(replyText({ text: htmlToText(html), html }), 'Fine.')
  t.equal(replyText({ text: 'Fine.\n\nold', html: 'Fine.<blockquote type="cite">old</blockquote>' }), 'Fine.')
})

t.test('whatever it is, it is read in a moment', async t => {
  for (const text of [
    '>'.repeat(manyTimes),
    'On 1:11 '.repeat(manyTimes),
    'From:\n'.repeat(manyTimes),
    '1:11 x:\n'.repeat(manyTimes),
    ' \n'.repeat(manyTimes),
    '-'.repeat(manyTimes),
    `Sent from ${'a '.repeat(manyTimes)}`,
    '<div '.repeat(manyTimes),
    '<div id='.repeat(2 * manyTimes),
  ]) {
    t.type(replyText({ text, html: text }), 'string', JSON.stringify(text.slice(0, 12)))
  }
})

const corpus = fileURLToPath(new URL('../../../../shared/corpora/reply-parsing/', import.meta.url))
const skip = existsSync(corpus) ? false : 'shared/corpora/reply-parsing is not there'

/** What is to be left: the whole, or how it begins (…) and, for signatures, what must not be in it. */
const texts: Record<string, { begins?: string; is?: string; without?: string }> = {
  'correct_sig.txt': { is: 'this is an email with a correct -- signature.' },
  'email_1_1.txt': { begins: 'Hi folks', without: 'Abhishek' },
  'email_1_2.txt': { begins: 'Hi,\n\nYou can list', without: '\n>' },
  'email_1_3.txt': { is: 'Oh thanks.\n\nHaving the function would be great.' },
  'email_1_4.txt': { is: "Awesome! I haven't had another problem with it." },
  'email_1_5.txt': { begins: "One: Here's what", without: '\n>' },
  'email_1_6.txt': { is: 'I get proper rendering as well.' },
  'email_1_7.txt': { is: ':+1:' },
  'email_1_8.txt': { is: 'I will reply under this one\n\nand under this.' },
  'email_2_1.txt': { is: 'Outlook with a reply' },
  'email_2_2.txt': { is: 'Outlook with a reply directly above line' },
  'email_2_3.txt': { is: 'Outlook with a reply directly above line' },
  'email_BlackBerry.txt': { is: 'Here is another email' },
  'email_bullets.txt': { begins: 'test 2 this should list second', without: 'Joe Smith' },
  'email_iPhone.txt': { is: 'Here is another email' },
  'email_long_quote.txt': { begins: 'Hi folks', without: 'Abhishek' },
  'email_multi_word_sent_from_my_mobile_device.txt': { is: 'Here is another email' },
  'email_one_is_not_on.txt': { begins: 'Thank, this is really', without: 'Dave Tapley' },
  'email_sent_from_my_not_signature.txt': {
    is: 'Here is another email\n\nSent from my desk, is much easier then my mobile phone.',
  },
  'email_sig_delimiter_in_middle_of_line.txt': { begins: 'Hi there!', without: '\n>' },
  'greedy_on.txt': { begins: 'On your remote host', without: 'Plymale' },
  'pathological.txt': { begins: "I think you're onto something.", without: 'wrote:' },
}
const replies =
  'android aol apple_mail apple_mail_2 comcast gmail hotmail iphone outlook sparrow thunderbird yahoo'
const pages =
  'gmail hotmail mail_ru ms_outlook_2003 ms_outlook_2007 ms_outlook_2010 thunderbird windows_mail yandex_ru'
const signed = 'camel_case jeff johndoeexamplecom long short_url sparse'

t.test('the corpus: the share that comes out right', { skip }, async t => {
  const wrong: string[] = []
  let count = 0
  const judge = (name: string, isRight: boolean) => {
    count++
    if (!isRight) wrong.push(name)
  }
  const read = (name: string) => readFileSync(`${corpus}${name}`, 'utf8')
  for (const [name, { is, begins = '', without }] of Object.entries(texts)) {
    const reply = ofText(read(`github/emails/${name}`))
    const isRight = is === undefined ? reply.startsWith(begins) && !reply.includes(without!) : reply === is
    judge(name, isRight)
  }
  for (const name of replies.split(' ')) {
    const parsed = readMessage(readFileSync(`${corpus}talon/fixtures/standard_replies/${name}.eml`))
    judge(`${name}.eml`, replyText(parsed) === 'Hello')
  }
  for (const name of pages.split(' ')) {
    const html = read(`talon/fixtures/html_replies/${name}.html`)
    const reply = replyText({ text: htmlToText(html), html })
    judge(`${name}.html`, reply.replaceAll(/\s+/g, ' ') === 'Hi. I am fine. Thanks, Alex')
  }
  for (const name of signed.split(' ')) {
    const at = `talon/fixtures/signature/emails/stripped/${name}`
    // `#sig#` marks the lines of the signature in some of them.
    const [body, signature] = ['body', 'signature'].map(part =>
      read(`${at}_${part}`).replaceAll('#sig#', '').trim(),
    ) as [string, string]
    // Of "Thank you, Noam" nothing says that it is a signature; it is right to stay or to go.
    const last = signature.split('\n').at(-1)!
    judge(`${name}_body`, signature === '' || !ofText(body).includes(last) || name === 'short_url')
  }
  t.comment(`${count - wrong.length} of ${count} right; wrong: ${wrong.join(', ')}`)
  t.ok(wrong.length <= 3, wrong.join(', '))
})
