import t from 'tap'
import { htmlToText } from '../../../lib/mail/text/html.ts'
import { extract } from '../../../lib/reading/extraction.ts'

const inner = 'Hi Ann,\n\nyour verification code is 482913. It is good for ten minutes.'
const header =
  'From: Example <no-reply@example.net>\nDate: Mon, 4 May 2026 at 10:15\nSubject: Your code\nTo: Ann <ann@example.com>'
const outlook =
  'From: Example <no-reply@example.net>\nSent: Monday, May 4, 2026 10:15 AM\nTo: Ann <ann@example.com>\nSubject: Your code'

/** What programs write above what they forward. */
const forwards: Record<string, string> = {
  Gmail: `---------- Forwarded message ---------\n${header}\n\n\n${inner}`,
  'Gmail, German': `---------- Weitergeleitete Nachricht ---------\nVon: Example <no-reply@example.net>\nDate: Mo., 4. Mai 2026 um 10:15 Uhr\nSubject: Your code\nTo: Ann <ann@example.com>\n\n\n${inner}`,
  'Gmail, Japanese': `---------- 転送メッセージ ---------\nFrom: Example <no-reply@example.net>\nDate: 2026年5月4日(月) 10:15\nSubject: Your code\nTo: Ann <ann@example.com>\n\n${inner}`,
  Outlook: `\n${outlook}\n\n${inner}`,
  'Outlook with a rule': `________________________________\n${outlook}\n\n${inner}`,
  'Outlook of old': `-----Original Message-----\n${outlook}\n\n${inner}`,
  'Outlook, French': `De : Example <no-reply@example.net>\nEnvoyé : lundi 4 mai 2026 10:15\nÀ : Ann <ann@example.com>\nObjet : Your code\n\n${inner}`,
  'Apple Mail': `Begin forwarded message:\n\n${`${header}\n\n${inner}`.replaceAll(/^/gm, '> ')}`,
  'Apple Mail, not marked': `Anfang der weitergeleiteten Nachricht:\n\nVon: Example <no-reply@example.net>\nBetreff: Your code\nDatum: 4. Mai 2026 um 10:15:00 MESZ\nAn: Ann <ann@example.com>\n\n${inner}`,
  Thunderbird: `\n\n-------- Forwarded Message --------\nSubject: Your code\nDate: Mon, 4 May 2026 10:15:00 +0200\nFrom: Example <no-reply@example.net>\nTo: Ann <ann@example.com>\n\n${inner}`,
  Yahoo: `   ----- Forwarded message ----- From: Example <no-reply@example.net>To: Ann <ann@example.com>Sent: Monday, May 4, 2026 at 10:15:00 AM GMT+2Subject: Your code\n\n${inner}`,
  Zoho: `============ Forwarded message ============\n${header}\n============ Forwarded message ============\n\n${inner}`,
  Samsung: `-------- Original message --------\nFrom: Example <no-reply@example.net>\nDate: 04/05/2026 10:15 (GMT+01:00)\nTo: Ann <ann@example.com>\nSubject: Your code\n\n${inner}`,
  mutt: `----- Forwarded message from Example <no-reply@example.net> -----\n\nDate: Mon, 4 May 2026 10:15:00 +0200\nFrom: Example <no-reply@example.net>\nTo: ann@example.com\nSubject: Your code\n\n${inner}\n\n----- End forwarded message -----`,
}

t.test('the code in what was forwarded, whoever forwards it', async t => {
  for (const [program, text] of Object.entries(forwards)) {
    const { otp, replyText } = extract({ subject: 'Fwd: Your code', text, html: '' })
    t.equal(otp, '482913', program)
    t.equal(replyText, inner, program)
    const noted = extract({ subject: 'WG: Your code', text: `Please use this.\n\nAnn\n\n${text}`, html: '' })
    t.equal(noted.replyText, `Please use this.\n\nAnn\n\n${inner}`, `${program}, below a note`)
    t.equal(noted.otp, '482913')
  }
})

t.test('a block of fields is that of a reply where the subject says so', async t => {
  const { otp, replyText } = extract({
    subject: 'AW: Your code',
    text: `Thank you.\n\n${outlook}\n\n${inner}`,
    html: '',
  })
  t.same([otp, replyText], [null, 'Thank you.'])
})

t.test('what the forwarded message quotes is history', async t => {
  const text = `${forwards.Gmail}\n\nOn Sun, 3 May 2026 at 9:00, Ann <ann@example.com> wrote:\n> my code is 111222`
  t.equal(extract({ subject: 'Fwd: x', text, html: '' }).replyText, inner)
})

t.test('links of what was forwarded, and none of what is replied to', async t => {
  const link = '<a href="https://example.net/in">Sign in</a>'
  const old = '<a href="https://example.net/old">old</a>'
  for (const [name, html] of Object.entries({
    Gmail: `<div>See</div><div class="gmail_quote"><div class="gmail_attr">---------- Forwarded message ---------<br>From: B &lt;b@example.net&gt;<br>Date: Mon, 4 May 2026<br>Subject: x<br>To: a@example.com<br></div><br>${link}<div class="gmail_quote"><blockquote class="gmail_quote">${old}</blockquote></div></div>`,
    Outlook: `<div>See</div><div id="appendonsend"></div><hr tabindex="-1"><div id="divRplyFwdMsg">From: B &lt;b@example.net&gt;<br>Sent: Monday<br>To: a@example.com<br>Subject: x</div><div>${link}</div><hr tabindex="-1"><div id="divRplyFwdMsg">From: C</div>${old}`,
    Apple: `<div>See</div><div>Begin forwarded message:</div><br><blockquote type="cite"><div>From: B &lt;b@example.net&gt;</div><div>Subject: x</div><div>Date: 4 May 2026</div><div>To: a@example.com</div><br>${link}<blockquote type="cite">${old}</blockquote></blockquote>`,
  })) {
    const urls = (subject: string) =>
      extract({ subject, text: htmlToText(html), html }).links.map(({ url }) => url)
    t.same(urls('Fwd: x'), ['https://example.net/in'], name)
  }
})

t.test('what a program quotes in HTML is no new text, in any language', async t => {
  const old = '<div>Lorem ipsum, old</div>'
  for (const [name, html] of Object.entries({
    Gmail: `<div>Yes</div><div class="gmail_quote gmail_quote_container"><div class="gmail_attr">Nk, Bob akandika<br></div><blockquote class="gmail_quote">${old}</blockquote></div>`,
    'Gmail of old': `<div>Yes</div><div class="gmail_quote">Nk, Bob akandika<br><blockquote class="gmail_quote">${old}</blockquote></div>`,
    Apple: `Yes<br><div><blockquote type="cite">${old}</blockquote></div>`,
    Thunderbird: `<p>Yes</p><div class="moz-cite-prefix">Nk Bob akandika:<br></div><blockquote type="cite" cite="mid:x@y">${old}</blockquote>`,
    Outlook: `<p>Yes</p><div><div style="border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0in 0in 0in"><p>Xyz: Bob</p></div></div>${old}`,
    'Outlook on the web': `<div>Yes</div><hr tabindex="-1" style="width:98%"><div id="divRplyFwdMsg">Xyz: Bob</div>${old}`,
    Yahoo: `<div>Yes</div><div id="yahoo_quoted_123" class="yahoo_quoted"><div>Nk Bob akandika:</div>${old}</div>`,
    Proton: `<div>Yes</div><div class="protonmail_quote">Nk Bob akandika<br><blockquote class="protonmail_quote" type="cite">${old}</blockquote></div>`,
    'seen by Outlook': `<div>Yes</div><div class="x_gmail_quote">Nk Bob akandika<blockquote class="x_gmail_quote">${old}</blockquote></div>`,
  })) {
    const { replyText, links } = extract({ subject: 'Re: x', text: htmlToText(html), html })
    t.equal(replyText, 'Yes', name)
    t.same(links, [])
  }
})

t.test('what stands between and below quotes in HTML is new', async t => {
  const html =
    '<div class="gmail_quote"><div class="gmail_attr">On Mon, Bob wrote:</div><blockquote class="gmail_quote">old</blockquote><div>first answer</div><blockquote class="gmail_quote">older</blockquote><div>second answer</div></div>'
  t.match(
    extract({ subject: 'Re: x', text: htmlToText(html), html }).replyText,
    /^first answer\n+second answer$/,
  )
  const below =
    '<div class="moz-cite-prefix">On Mon, Bob wrote:</div><blockquote type="cite">old</blockquote><p>below <a href="https://example.net/new">new</a></p>'
  const { replyText, links } = extract({
    subject: 'Re: x',
    text: 'On 4 May 2026, Bob wrote:\n> old\n\nbelow new',
    html: below,
  })
  t.equal(replyText, 'below new')
  t.same(links, [{ url: 'https://example.net/new', text: 'new' }])
})

t.test('notices, devices and cards at the end', async t => {
  for (const [text, reply] of [
    [
      'Yes.\n\nBob\n\nCONFIDENTIALITY NOTICE: This e-mail and any attachments are for the intended recipient only and may be privileged.',
      'Yes.\n\nBob',
    ],
    [
      'Ja.\n\nDiese E-Mail enthält vertrauliche Informationen. Wenn Sie nicht der richtige Adressat sind oder diese E-Mail irrtümlich erhalten haben, löschen Sie sie.',
      'Ja.',
    ],
    ['Yes.\n\nSent from my Android device with K-9 Mail. Please excuse my brevity.', 'Yes.'],
    ['Oui.\n\nEnvoyé de mon appareil Android avec Courriel K-9 Mail. Veuillez excuser ma brièveté.', 'Oui.'],
    ['Yes.\n\n[Sent from Yahoo Mail for iPhone](https://yahoo.example)', 'Yes.'],
    [
      'This e-mail is confidential: are you the intended recipient of the parcel that came today, or is it Bob?',
      'This e-mail is confidential: are you the intended recipient of the parcel that came today, or is it Bob?',
    ],
  ] as const) {
    t.equal(extract({ subject: '', text, html: '' }).replyText, reply)
  }
})
