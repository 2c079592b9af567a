import t from 'tap'
import { isHeldBack, readWritten } from '../../support/halves.ts'
import { type Kind, whatBecomes } from './bounce-corpus.ts'

interface Written {
  readonly id: string
  readonly kind: Kind
  readonly from: string
  readonly subject: string
  readonly text: string
}

/** Read otherwise, and why. */
const otherwise: Record<string, string> = {
  'sendmail-5': 'that the mailbox is full stands above the reply that is quoted',
  'qmail-5': '"user does not exist" stands above a fault of their disk',
  'w2-exim-discarded': 'it may not exist, or be on a list: nothing that speaks of the recipient alone',
  'w2-exim-553': 'relaying is a policy, also where the domain is not theirs any more',
  'w2-cyrus': 'it says 5.7.1, a policy, beside "over quota"',
  'w2-qmail-over': 'words of a log, with lines in the place of spaces',
  'w2-netqmail': 'words of a log, with lines in the place of spaces',
  'w2-mailscanner': 'a warning that attachments are kept back, of which nobody knows what came',
}

const asWord = (text: string) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`
const recipient = 'kim@dest.example'

function rawOf({ from, subject, text }: Written): Buffer {
  const said = /[^ -~]/.test(subject) ? asWord(subject) : subject
  const head = `From: ${from}\nTo: b-1@bounce.ours.example\nSubject: ${said}\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8`
  return Buffer.from(`${head}\n\n${text}`.replaceAll('\n', '\r\n'))
}

t.test('bounces in words of seventy kinds of servers, and mail that is none', async t => {
  const judged = [...readWritten<Written>('bounces'), ...readWritten<Written>('bounces-2')].map(one => ({
    ...one,
    got: whatBecomes(rawOf(one), recipient),
  }))
  const sets = {
    'written by': judged.filter(({ id }) => !isHeldBack(id) && !id.startsWith('w2-')),
    'held back': judged.filter(({ id }) => isHeldBack(id) && !id.startsWith('w2-')),
    'the second set': judged.filter(({ id }) => id.startsWith('w2-')),
  }
  for (const [name, some] of Object.entries(sets)) {
    const failed = some.filter(({ got, kind }) => (got === 'none') === (kind === 'none'))
    const right = some.filter(({ got, kind }) => got === kind)
    t.comment(
      `${name}: of ${some.length} ${failed.length} failed or not, ${right.length} suppressed as they should be`,
    )
  }
  t.ok(judged.length >= 240)
  for (const { id, kind, got } of judged)
    t.ok(got === kind || otherwise[id], `${id}: want ${kind}, got ${got}`)
  t.same(
    judged.filter(({ kind, got }) => kind === 'none' && got !== 'none'),
    [],
    'no false one',
  )
})
