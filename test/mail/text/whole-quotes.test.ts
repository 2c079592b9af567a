import t from 'tap'
import {
  attributionStart,
  behindHeaderBlock,
  isHeaderBlock,
  joinedAtBrackets,
  separatorOf,
} from '../../../lib/mail/quote/lines.ts'
import { bareSubject, isForwardSubject, isReplySubject } from '../../../lib/mail/quote/subject.ts'
import { newText } from '../../../lib/mail/text/reply-text.ts'
import { type Facts, sameFacts } from '../../support/kept-facts.ts'

const attributions = [
  'On Mon, Nov 2, 2026 at 9:41 AM Bob <bob@example.net> wrote:',
  'On Mon, Nov 2, 2026 at 9:41 AM Bob wrote:',
  'On Mon, Nov 2, 2026 at 9:41 AM Bob <bob@example.net> wrote',
  'On Mon, Nov 2, 2026 at 9:41 AM\nBob Ross <bob@example.net>\nwrote:',
  'On Mon\n\nBob wrote:',
  'Quoting Bob <bob@example.net>:',
  'Quoting Bob <bob@example.net> and more:',
  `Quoting ${'x'.repeat(120)} <bob@example.net>:`,
  ...[119, 120, 121].map(length => `Quoting ${'x'.repeat(length - 26)} <bob@example.net>:`),
  'Bob <bob@example.net>:',
  'Bob wrote:',
  'Bob wrote this to me and to all of the others who have ever asked for it, as far as I know:',
  '2026-11-02 9:41 GMT+01:00 Bob <bob@example.net>:',
  '2026-11-02 9:41 by bob@example.net:',
  'Am 02.11.2026 um 09:41 schrieb Bob:',
  'El lun, 2 nov 2026 a las 9:41, Bob (<bob@example.net>) escribió:',
  '2026年11月2日 9:41 Bob <bob@example.net>:',
  '> On Mon Bob wrote:',
  '*On Mon, Nov 2, 2026, Bob <bob@example.net> wrote:*',
  '---- On Mon, 02 Nov 2026 09:41:05 +0100 Bob <bob@example.net> wrote ----',
  'I said:',
  'The list:',
  'http://example.com:',
  '12:30',
  '',
]

const blocks = [
  'From: Bob\nSent: Monday\nTo: Ann\nSubject: Plan',
  '*From:* Bob\n*Sent:* Monday\n*To:* Ann\n*Subject:* Plan',
  '> From: Bob\n> Date: Monday\n> To: Ann',
  'From: Bob\nTo: Ann\n\nSubject: Plan\n\nFrom: Carl\nTo: Dora',
  'From: Bob\nTo: Ann\n carl@example.org\n  dora@example.org\nSubject: x\ntext',
  'From: Bob\ntext',
  'From: Bob\nSubject: x',
  'To: Ann\nSubject: x\nDate: y',
  'Von: Bob\nGesendet: Montag\nAn: Ann\nBetreff: Plan\n\ntext',
  'De : Bob\nEnvoyé : lundi\nÀ : Ann\nObjet : Plan',
  'From: Bob\n\n\nTo: Ann\n\n\n\nSubject: x',
  'Dear From: Bob',
  'text\nFrom: Bob\nTo: Ann',
  `From: ${'x'.repeat(2000)}\nTo: Ann\nSubject: x`,
  Array.from({ length: 40 }, (_, at) => `From: ${at}`).join('\n'),
]

const separators = [
  '-----Original Message-----',
  '----- Original Message -----',
  '--- Original Message ---',
  'Original Message',
  '---------- Forwarded message ----------',
  '---------- Forwarded message ---------',
  'Begin forwarded message:',
  '-----Ursprüngliche Nachricht-----',
  '-------- Weitergeleitete Nachricht --------',
  '________________________________',
  '_____',
  '--- End of forwarded message ---',
  '----',
  '-- ',
  '##- Please type your reply above this line -##',
  '=====',
  'text',
]

const texts: readonly (readonly [string, string])[] = [
  ...attributions.flatMap((line): (readonly [string, string])[] => [
    ['Re: Plan', `new\n\n${line}\n\n> old\n> older\n\nbelow`],
    ['Re: Plan', `new\n\n${line}\nold without marks`],
    ['Plan', `${line}\n> old`],
  ]),
  ...blocks.flatMap((block): (readonly [string, string])[] => [
    ['Re: Plan', `new\n\n${block}\n\nold`],
    ['Fwd: Plan', `see\n\n${block}\n\nold`],
    ['Plan', `${block}\n\nold`],
    ['Re: Plan', `new\n________________________________\n${block}\n\nold\n\n${block}\n\nolder`],
  ]),
  ...separators.flatMap((line): (readonly [string, string])[] => [
    ['Re: Plan', `new\n\n${line}\nFrom: Bob\nTo: Ann\nSubject: Plan\n\nold`],
    ['Fwd: Plan', `new\n\n${line}\nold\n\n${line}\nolder`],
    ['Plan', `${line}\nold`],
  ]),
  ['Re: Plan', '> old\n> older\nnew\n> old again\nmore'],
  ['Re: Plan', 'new\n\n-- \nBob\nbob@example.net'],
  ['Re: Plan', 'new\n\nSent from my iPhone\n\n> old'],
  ['Re: Plan', 'new\n--\nBob'],
  ['Re: Plan', 'new\n\n-----\nBob\n-----\n\nFrom: Ann\nTo: Bob\nSubject: x\n\nold'],
  ['Re: Plan', '> all\n> is\n> quoted'],
  ['Re: Plan', ''],
  ['Re: Plan', 'new\n=====\n-----Original Message-----\nFrom: Bob\nTo: Ann\nSubject: x\n\nold'],
  ['Re: Plan', 'new\n=====\n\nFrom: Bob\nTo: Ann\nSubject: x\n\nold'],
  ['Re: Plan', '=====\nFrom: Bob\nTo: Ann\nSubject: x\n\nold'],
  ['Plan', '=====\nFrom: Bob\nTo: Ann\nSubject: x\n\nold'],
]

const subjects = [
  'Re: x',
  'RE:x',
  'Re[2]: x',
  'Re : x',
  'AW: x',
  'Antw: x',
  'SV: x',
  'Fwd: x',
  'FW: x',
  'WG: x',
  'Tr: x',
  'Re: Fwd: x',
  'Fwd: Re: x',
  '[list] Re: x',
  'Re: [list] x',
  'Reply: x',
  'Res: x',
  '回复: x',
  '转发：x',
  'x (fwd)',
  '[Fwd: x]',
  'Re:',
  '',
  'Regarding: x',
  'Re: Re: Re: x',
]

t.test('what is quoted, and what is new, in many forms', async t => {
  const split = (text: string) => text.split('\n')
  sameFacts(t, 'quotes', [
    ...attributions.map((text): Facts => {
      const lines = split(text)
      return [
        `attribution ${JSON.stringify(text).slice(0, 150)}`,
        [false, true].map(isAbove => `${attributionStart(lines, lines.length - 1, isAbove)}`),
      ]
    }),
    ...blocks.map((text): Facts => {
      const lines = split(text)
      return [
        `block ${JSON.stringify(text).slice(0, 150)}`,
        lines.slice(0, 8).map((_, at) => `${isHeaderBlock(lines, at)} ${behindHeaderBlock(lines, at)}`),
      ]
    }),
    ...separators.map((line): Facts => [`separator ${line}`, `${separatorOf(line)}`]),
    ...texts.map(
      ([subject, text], at): Facts => [
        `text ${at} ${subject} ${JSON.stringify(text).slice(0, 150)}`,
        newText({ subject, text, html: '' }),
      ],
    ),
    ...subjects.map(
      (subject): Facts => [
        `subject ${subject}`,
        [isReplySubject(subject), isForwardSubject(subject), bareSubject(subject)],
      ],
    ),
    ['joined', joinedAtBrackets(['On x, Bob <', 'bob@example.net> wrote:', 'a <b', 'c', '<', '>'])],
  ])
})
