import t from 'tap'
import { parseDate } from '../../../lib/mail/header/date.ts'

t.test('dates of headers', async t => {
  const good: readonly (readonly [string, string])[] = [
    ['Fri, 21 Nov 1997 09:55:06 -0600', '1997-11-21T15:55:06.000Z'],
    ['21 Nov 97 09:55 GMT', '1997-11-21T09:55:00.000Z'],
    ['Thu,\t13\tFeb\t1969\t23:32\t-0330\t(Newfoundland Time)', '1969-02-14T03:02:00.000Z'],
    ['Wed, 21 Nov 2025 10:00:00 +0530', '2025-11-21T04:30:00.000Z'],
    ['Tue, 1 Jul 2003 10:52:37 EDT', '2003-07-01T14:52:37.000Z'],
    ['1 Jul 03 10:52:37 (a (nested) comment) PST', '2003-07-01T18:52:37.000Z'],
    ['Mon, 01 Jan 103 00:00:00 Z', '2003-01-01T00:00:00.000Z'],
    ['Sat, 31 Dec 2016 23:59:60 +0000', '2016-12-31T23:59:59.000Z'],
    ['Tue, 1 July 2003 10:52:37 +0200', '2003-07-01T08:52:37.000Z'],
    ['1 Jul 2003 10:52:37', '2003-07-01T10:52:37.000Z'],
    ['Wed,  1 Jul 2003 10:52:37 +0000 (UTC)', '2003-07-01T10:52:37.000Z'],
  ]
  for (const [text, iso] of good) t.equal(parseDate(text), iso, text)
})

t.test('what is no date', async t => {
  const bad = [
    '',
    'now',
    'hello 5',
    '5',
    '31 Feb 2020 10:00:00 +0000',
    '32 Jan 2020 10:00:00 +0000',
    '0 Jan 2020 10:00:00 +0000',
    '1 Foo 2020 10:00:00 +0000',
    '1 Jan 2020 24:00:00 +0000',
    '1 Jan 2020 10:60:00 +0000',
    '1 Jan 2020 10:00:99 +0000',
    '1 Jan 2020 10:00:00 +0099',
    '1 Jan 2020',
    '('.repeat(100_000),
    ' '.repeat(100_000),
  ]
  for (const text of bad) t.equal(parseDate(text), null, JSON.stringify(text.slice(0, 40)))
})
