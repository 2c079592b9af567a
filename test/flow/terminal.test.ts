import { Buffer } from 'node:buffer'
import t from 'tap'
import { builtProgram } from '../support/built.ts'
import { callCtl } from '../support/called-ctl.ts'
import { makeLocalInstallation, startLocalDaemon } from '../support/local-daemon.ts'
import { without } from '../support/peers.ts'
import { runProgram } from '../support/program.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

/** Runs a program on a terminal and gives what came there. */
const onTerminal = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'
/** A title, a cleared screen, colours by C0 and C1, writing from right to left, a byte that is no UTF-8. */
const hostile = '\x1b]0;title\x07 \x1b[2J \x1b[31m \u009b32m \u202eesrever\u202c \x7f'

t.test('who presses ^C at a question gets one line and 130', { skip: without('python3') }, async t => {
  const dir = temporaryDir(t)
  await makeLocalInstallation(t, dir)
  // ^C is pressed when the question stands there.
  const pressing = [
    'import os, pty, sys',
    'pid, fd = pty.fork()',
    'if pid == 0: os.execv(sys.argv[1], sys.argv[1:])',
    "said = b''",
    "while b'[y/N]' not in said: said += os.read(fd, 1000)",
    "os.write(fd, b'\\x03')",
    'try:',
    '  while True:',
    '    more = os.read(fd, 1000)',
    '    if not more: break',
    '    said += more',
    'except OSError: pass',
    'sys.stdout.buffer.write(said)',
    'sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))',
  ].join('\n')
  const args = ['-c', pressing, process.execPath, builtProgram('mailboxctl'), 'secrets', 'rotate']
  const { code, stdout } = await runProgram('python3', args, '', { cwd: dir })
  t.equal(code, 130)
  t.match(stdout, /\[y\/N\] .*\r?\nnothing was done\r*\n$/s)
  t.notMatch(stdout, /Abort|\.js:/)
})

t.test('nothing that a stranger wrote commands a terminal', { skip: without('python3') }, async t => {
  const dir = temporaryDir(t)
  const daemon = await startLocalDaemon(t, dir)
  const json = async (...args: string[]) => JSON.parse((await callCtl(dir, '--json', ...args)).stdout)
  const [inbox] = (await json('inbox', 'list')).data
  const dialog = await greetedDialog(daemon.smtpPort)
  await dialog.envelope('stranger@example.com', inbox.address)
  const content = `From: =?utf-8?B?${Buffer.from(hostile).toString('base64')}?= <stranger@example.com>\r\nSubject: ${hostile}\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHere: ${hostile}\r\n`
  t.equal((await dialog.data(content)).code, 250)
  dialog.end()
  const [{ id }] = (await json('message', 'list', inbox.id)).data
  await callCtl(dir, 'suppression', 'add', 'gone@example.org', '--evidence', hostile)
  const whole = (await callCtl(dir, '--json', 'message', 'get', id)).stdout

  const questions = [
    ['message', 'get', id],
    ['message', 'raw', id],
    ['message', 'list', inbox.id],
    ['suppression', 'list'],
    ['inbox', 'get', hostile],
    [hostile],
    ['restore', hostile],
    ['--json', 'inbox', 'get', hostile],
    ['--json', 'message', 'get', id],
  ]
  const ask = async (words: readonly string[]) => {
    const args = ['-c', onTerminal, process.execPath, builtProgram('mailboxctl'), ...words]
    const { stdout } = await runProgram('python3', args, '', { cwd: dir })
    const name = words.join(' ').replaceAll(/\P{ASCII}|\p{Cc}/gu, '?')
    t.match(stdout, /\S/, name)
    // Of ours there is a bold heading; a terminal puts CR before each LF.
    const said = stdout.replaceAll(/^\x1b\[1m([^\x1b]*)\x1b\[22m(?=\r?$)/gm, '$1').replaceAll(/\r+\n/g, '\n')
    t.notMatch(said, /[^\P{Cc}\n\t]|[\u202a-\u202e\ufffd]/u, name)
    return said
  }
  const answers: string[] = []
  for (let at = 0; at < questions.length; at += 3) {
    answers.push(...(await Promise.all(questions.slice(at, at + 3).map(ask))))
  }
  t.strictSame(JSON.parse(answers.at(-1)!), JSON.parse(whole), 'the same value')
  const raw = await callCtl(dir, 'message', 'raw', id)
  t.ok(raw.stdout.includes(`\r\n\r\nHere: ${hostile}\r\n`), 'as it came, where it is not shown')
})
