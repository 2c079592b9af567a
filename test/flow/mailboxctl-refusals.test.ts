import t from 'tap'
import { runCtl } from '../support/local-daemon.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

t.test('what is no command is said, with exit code 2', async t => {
  const dir = temporaryDir(t)
  const [unknown, unknownVerb, missing] = await Promise.all([
    runCtl(dir, 'nothing'),
    runCtl(dir, 'pod', 'nothing'),
    runCtl(dir, 'pod', 'get'),
  ])
  for (const { code, stderr, stdout } of [unknown, unknownVerb, missing]) {
    t.equal(code, 2)
    t.not(stderr, '')
    t.equal(stdout, '')
  }
  const [near, nearOption] = await Promise.all([
    runCtl(dir, '--json', 'inbx', 'list'),
    runCtl(dir, 'inbox', 'list', '--limt', '3'),
  ])
  t.equal(near.code, 2)
  t.match(JSON.parse(near.stderr), { error: 'wrong_command_line', message: /inbx.*Did you mean inbox/ })
  const elsewhere = await runCtl(dir, '--json', '--data', 'nothing-there', 'inbox', 'list')
  t.equal(elsewhere.code, 78)
  t.match(JSON.parse(elsewhere.stderr), {
    error: 'wrong_configuration',
    message: /there is no installation/,
    faults: [{ path: 'data_dir' }],
  })
  t.match(nearOption, { code: 2, stderr: /Did you mean --limit/ })
  const [ofVerb, ofNothing] = await Promise.all([
    runCtl(dir, 'help', 'inbox', 'create'),
    runCtl(dir, 'help', 'nothing'),
  ])
  t.match(ofVerb, { code: 0, stdout: /^Usage: mailboxctl inbox create .*--mailbox-name/s })
  t.match(ofNothing, { code: 2, stdout: '', stderr: /unknown command 'nothing'\n\(mailboxctl --help/ })
})
