import t from 'tap'
import { readSubmittedPeople } from '../../../lib/mail/compose/submitted-people.ts'
import { readHeader } from '../../../lib/mail/header/header.ts'

const read = (fields: string) =>
  readSubmittedPeople(readHeader(Buffer.from(`${fields}\r\n\r\n`)), 'ann@ours.example')
const people = (fields: string) => {
  const found = read(fields)
  if ('refusal' in found) throw new Error(found.refusal)
  return found
}
const refusal = (fields: string) => {
  const found = read(fields)
  return 'refusal' in found ? found.refusal : 'taken'
}

const answered = [
  'Reply-To',
  'X-Reply-To',
  'Mail-Reply-To',
  'Mail-Followup-To',
  'Resent-Reply-To',
  'Disposition-Notification-To',
  'Read-Receipt-To',
  'Return-Receipt-To',
  'X-Confirm-Reading-To',
  'Errors-To',
]
const addressed = ['To', 'Cc', 'Resent-To', 'Resent-Cc', 'Apparently-To']

/** Each names boss@x.example to some reader, and not to another. */
const unclear = [
  '=?utf-8?q?boss=40x.example?=',
  '"boss@x.example"',
  '<>boss@x.example',
  '"boss@x.example',
  '(boss@x.example',
  'x boss@x.example',
  'ann@ours.example, "boss@x.example',
  '<boss@x.example',
  'boss@x.example (',
  'bob@ours.example; boss@x.example',
  'bob@ours.example boss@x.example',
  '<boss@x.example.>',
  'boss@x.example.',
  'boss@@x.example',
  'boss..y@x.example',
  '.boss@x.example',
  '<mailto:boss@x.example>',
  'boss@[x.example]',
  'boss@xn--x.example',
  'Boss [boss@x.example]',
  'Boss <boss@x.example> <bob@ours.example>',
  'boss\uff20x.example',
]

t.test('whom an answer or a notice may go to is found by every reader, or it is refused', async t => {
  for (const name of answered) {
    t.strictSame(people(`${name}: Bob <Bob@x.example>, eve@x.example`).answersTo, [
      'bob@x.example',
      'eve@x.example',
    ])
    for (const value of [...unclear, '(boss@x.example)', '', 'boss', '<boss>', 'some: boss@x.example;']) {
      t.match(refusal(`${name}: ${value}`), `${name} must name addresses`, value)
    }
  }
  const many = (count: number) => Array.from({ length: count }, (_, index) => `x${index}@x.example`)
  t.equal(people(`Reply-To: ${many(10)}`).answersTo.length, 10)
  t.match(refusal(`Reply-To: ${many(6)}\r\nErrors-To: ${many(11).slice(6)}`), /at most 10/)
})

t.test('so is whom it is addressed to, who may be nobody', async t => {
  for (const name of addressed) {
    t.strictSame(
      people(`${name}: Bob <Bob@x.example>, "Eve, E." <eve@x.example>, some: zoe@x.example;`).named,
      ['bob@x.example', 'eve@x.example', 'zoe@x.example'],
    )
    for (const value of ['', 'undisclosed-recipients:;', 'root', '(nobody)', '=?utf-8?q?Nobody?=']) {
      t.strictSame(people(`${name}: ${value}`).named, [], value)
    }
    for (const value of unclear) t.match(refusal(`${name}: ${value}`), `${name} must name`, value)
  }
  const many = (count: number) => Array.from({ length: count }, (_, index) => `x${index}@x.example`)
  t.equal(people(`To: ${many(200)}`).named.length, 200)
  t.match(refusal(`To: ${many(201)}`), /more than 200/)
})

t.test('what looks like an address in a name or a comment counts besides', async t => {
  for (const value of [
    '"boss@x.example" <bob@ours.example>',
    '"boss@x.example," <bob@ours.example>',
    'bob@ours.example (, boss@x.example)',
    '=?utf-8?q?=3Cboss=40x=2Eexample=3E=2C?= <bob@ours.example>',
    '"=?utf-8?q?=22=3CBOSS=40x=2Eexample=3E=2C?=" <bob@ours.example>',
    '=?utf-8?b?Ym9zc0B4LmV4YW1wbGUs?= <bob@ours.example>',
    '"\'boss@x.example\'" <bob@ours.example>',
    '"see mailto:boss@x.example." <bob@ours.example>',
    '"boss@x.example!" <bob@ours.example>',
    '"*boss@x.example*" <bob@ours.example>',
    '"`boss@x.example`" <bob@ours.example>',
    '"boss\uff20x.example" <bob@ours.example>',
    '"boss@x.example\u2019" <bob@ours.example>',
    '"boss@x.example\u3001y" <bob@ours.example>',
    '"\uff1cboss@x.example\uff1e" <bob@ours.example>',
    '"boss@x.example|y" <bob@ours.example>',
    '"y|boss@x.example}" <bob@ours.example>',
    '"boss@x.example_" <bob@ours.example>',
    '"bo\u00adss@x.exam\u200bple" <bob@ours.example>',
    '"boss@x\u3002example" <bob@ours.example>',
    '"boss @ x.example," <bob@ours.example>',
    '"x, \\"boss\\"@x.example" <bob@ours.example>',
    'bob@ours.example ("boss"@x.example)',
    '=?utf-8?q?=3D=3Futf-8=3Fq=3Fboss=3D40x=2Eexample=3F=3D?= <bob@ours.example>',
    '=?utf-8?q?boss=40x?= =?utf-8?q?=2Eexample?= <bob@ours.example>',
  ]) {
    for (const name of ['To', 'Cc', 'Resent-Cc', 'Reply-To', 'Errors-To']) {
      t.ok(people(`${name}: ${value}`).named.includes('boss@x.example'), `${name}: ${value}`)
    }
  }
  t.strictSame(people('To: (boss@x.example)').named, ['boss@x.example'])
  t.strictSame(people('To: "Bob (@bob)" <bob@ours.example>').named, ['bob@ours.example'])
})

t.test('whom a list offers to be written to counts', async t => {
  for (const name of [
    'Mail-Copies-To',
    'X-Mailing-List',
    'Mailing-List',
    'X-To',
    'X-Cc',
    'X-Bcc',
    'Author',
    'Registered-Mail-Reply-Requested-By',
    'Notice-Requested-Upon-Delivery-To',
    'X-Complaints-To',
  ]) {
    t.ok(people(`${name}: list boss@x.example; y`).named.includes('boss@x.example'), name)
  }
  for (const name of ['In-Reply-To', 'References', 'Message-ID', 'Subject', 'List-Id', 'X-Mailer']) {
    t.strictSame(people(`${name}: <boss@x.example>`).named, [], name)
  }
  for (const name of ['Post', 'Unsubscribe', 'Subscribe', 'Owner', 'Help', 'Archive']) {
    for (const value of [
      '<mailto:boss@x.example>',
      '<https://x.example/>, <mailto:boss@x.example?subject=u>',
      '<mailto:boss%40x.example>',
      '<mailto:?to=boss@x.example>',
      '<mailto:eve@y.example?cc=boss%40x%2Eexample&subject=u>',
      '<mailto:boss\r\n @x.example>',
      '<mailto:boss@x.exa\r\n mple>',
      '<mailto:%22boss%22@x.example>',
      '<mailto:"boss"@x.example>',
      '<mailto:ann@y.example?cc=%22boss%22@x.example>',
      '<mailto:boss%25%34%30x.example>',
      '<mailto:boss%EF%BC%A0x.example>',
      '<mailto:boss@x.exa(y)mple>',
      '=?utf-8?q?=3Cmailto=3Aboss=2540x=2Eexample=3E?=',
      'boss@x.example',
    ]) {
      t.ok(people(`List-${name}: ${value}`).named.includes('boss@x.example'), `List-${name}: ${value}`)
    }
  }
  t.strictSame(people('List-Unsubscribe: <https://x.example/u?t=1>').named, [])
})

t.test('nobody else sends it or sends it on', async t => {
  for (const name of ['Sender', 'Resent-From', 'Resent-Sender']) {
    for (const value of ['eve@ours.example', 'ann@ours.example, eve@ours.example', ...unclear]) {
      t.match(refusal(`${name}: ${value}`), `${name} must be ann@ours.example`, value)
    }
    t.strictSame(people(`${name}: Ann <ANN@ours.example>`), { answersTo: [], named: [] })
  }
})
