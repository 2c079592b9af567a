import { execFileSync } from 'node:child_process'
import t from 'tap'
import { shellWord } from '../../lib/base/text.ts'

t.test('what is pasted is one word, and nothing of it is run', async t => {
  for (const text of ['/var/lib/mailboxd', "a b'c", '$(id)', '`id`', 'a;b', '"', '\\', '~', '*', '!x', "''"])
    t.equal(execFileSync('sh', ['-c', `printf %s ${shellWord(text)}`], { encoding: 'utf8' }), text)
  t.equal(shellWord('/var/lib/mailboxd'), '/var/lib/mailboxd', 'and what needs no quotes has none')
})
