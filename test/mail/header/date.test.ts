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

t.test('the zones that are names, RFC 5322 section 4.3', async t => {
  const zones = {
    EDT: 4,
    EST: 5,
    CDT: 5,
    CST: 6,
    MDT: 6,
    MST: 7,
    PDT: 7,
    PST: 8,
    UT: 0,
    GMT: 0,
    A: 0,
    XYZ: 0,
  }
  for (const [name, hours] of Object.entries(zones)) {
    const iso = `2003-07-01T${String(10 + hours).padStart(2, '0')}:52:37.000Z`
    t.equal(parseDate(`Tue, 1 Jul 2003 10:52:37 ${name}`), iso, name)
  }
})

t.test('the last and first of each part', async t => {
  const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
  for (const [at, month] of months.entries())
    t.equal(parseDate(`1 ${month} 2003 00:00:00 Z`), new Date(Date.UTC(2003, at)).toISOString())
  t.equal(parseDate('31 Dec 2003 23:59:59 +0000'), '2003-12-31T23:59:59.000Z')
  t.equal(
    parseDate('1 Jan 49 00:00 +0059'),
    '2048-12-31T23:01:00.000Z',
    'two digits up to 49 are of this century',
  )
  t.equal(parseDate('1 Jan 50 00:00 -0001'), '1950-01-01T00:01:00.000Z')
  t.equal(parseDate('1 Jan 100 00:00 Z'), '2000-01-01T00:00:00.000Z', 'three count from 1900')
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
    '1 Jan 2020 10:00:61 +0000',
    '1 Jan 2020 10:00:00 +0060',
    '1 Jan 2020',
    '('.repeat(100_000),
    ' '.repeat(100_000),
  ]
  for (const text of bad) t.equal(parseDate(text), null, JSON.stringify(text.slice(0, 40)))
})
