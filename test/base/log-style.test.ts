import { fstatSync } from 'node:fs'
import t from 'tap'
import { createLog } from '../../lib/base/log.ts'
import { faultText, logStyle } from '../../lib/base/log-style.ts'

function written(style: Parameters<typeof createLog>[2]): string[] {
  const lines: string[] = []
  const log = createLog('debug', { write: line => void lines.push(line) }, style)
  log.info({ sessionId: 'abc', rcptTos: ['a@b.example'], reason: 'two words' }, 'message received')
  log.warn({ helo: '\u001b[31mred\u009b2J\nfaked line' }, 'refused')
  log.error({ err: new RangeError('too \u001b]0;large') }, 'a fault')
  log.debug('small')
  return lines
}

t.test('text is for people: one line an entry, and what strangers wrote commands no terminal', async t => {
  const [info, warn, error] = written({ isText: true, hasPriority: false }) as [string, string, string]
  t.match(
    info,
    /^\d\d:\d\d:\d\d\.\d{3} info {2}message received {2}sessionId=abc {2}rcptTos=\["a@b\.example"\] {2}reason="two words"\n$/,
  )
  t.match(warn, /warn {2}refused {2}helo="\S*31mred/)
  t.equal(warn.split('\n').length, 2)
  t.match(error, /error a fault {2}RangeError: too \\x1b\]0;large\n\s+at /)
  for (const text of [info, warn, error]) t.notMatch(text, /[\u001b\u009b]/)
})

t.test('to the journal each line begins with its level, and else none does', async t => {
  const json = written({ isText: false, hasPriority: true })
  t.strictSame(
    json.map(line => line.slice(0, 4)),
    ['<6>{', '<4>{', '<3>{', '<7>{'],
  )
  for (const line of json) t.equal(typeof JSON.parse(line.slice(3)).msg, 'string')
  const text = written({ isText: true, hasPriority: true })[2]!
  for (const line of text.trimEnd().split('\n')) t.match(line, /^<3>/)
  t.match(written({ isText: false, hasPriority: false })[0], /^\{/)
  t.equal(faultText('one\ntwo\n', { hasPriority: true }), '<3>one\n<3>two\n')
  t.equal(faultText('one\n', { hasPriority: false }), 'one\n')

  const { dev, ino } = fstatSync(2, { bigint: true })
  t.ok(logStyle('json', `${dev}:${ino}`).hasPriority)
  t.notOk(logStyle('json', `${dev}:${ino + 1n}`).hasPriority, 'standard error leads elsewhere')
  t.notOk(logStyle('json', undefined).hasPriority)
  t.ok(logStyle('text', undefined).isText)
  t.notOk(logStyle('json', undefined).isText)
})
