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
}

const asWord = (text: string) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`
const recipient = 'kim@dest.example'

function rawOf({ from, subject, text }: Written): Buffer {
  const said = /[^ -~]/.test(subject) ? asWord(subject) : subject
  const head = `From: ${from}\nTo: b-1@bounce.ours.example\nSubject: ${said}\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8`
  return Buffer.from(`${head}\n\n${text}`.replaceAll('\n', '\r\n'))
}

t.test('bounces in words of seventy kinds of servers, and mail that is none', async t => {
  const judged = readWritten<Written>('bounces').map(one => ({
    ...one,
    got: whatBecomes(rawOf(one), recipient),
  }))
  for (const half of [false, true]) {
    const some = judged.filter(({ id }) => isHeldBack(id) === half)
    const failed = some.filter(({ got, kind }) => (got === 'none') === (kind === 'none'))
    const right = some.filter(({ got, kind }) => got === kind)
    t.comment(
      `${half ? 'held back' : 'written by'}: of ${some.length} ${failed.length} failed or not, ${right.length} suppressed as they should be`,
    )
  }
  t.ok(judged.length >= 190)
  for (const { id, kind, got } of judged)
    t.ok(got === kind || otherwise[id], `${id}: want ${kind}, got ${got}`)
  t.same(
    judged.filter(({ kind, got }) => kind === 'none' && got !== 'none'),
    [],
    'no false one',
  )
})
