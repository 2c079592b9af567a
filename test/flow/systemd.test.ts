import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { builtProgram } from '../support/built.ts'
import { getPeer, without } from '../support/peers.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

t.test(
  'sockets of the service manager refuse no connection while mailboxd starts again',
  { skip: without('python3', 'libsystemd') },
  async t => {
    const dir = temporaryDir(t)
    const config = join(dir, 'mailboxd.toml')
    const listen = 'listen = ["127.0.0.1:0"]'
    writeFileSync(
      config,
      `hostname = "mail.ours.example"\naccount_domain = "ours.example"\ndata_dir = "${dir}/data"\n[smtp]\n${listen}\n[http]\n${listen}\n`,
    )
    const script = join(import.meta.dirname, '../support/systemd.py')
    const program = [process.execPath, '--disable-warning=ExperimentalWarning', builtProgram('mailboxd')]
    const manager = spawn(getPeer('python3'), [script, join(dir, 'notify'), ...program, '--config', config], {
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const ended = once(manager, 'close')
    let told = ''
    let log = ''
    manager.stdout.setEncoding('utf8').on('data', text => {
      told += text
    })
    manager.stderr.setEncoding('utf8').on('data', text => {
      log += text
    })
    const times = (word: string) => told.split('\n').filter(line => line === word).length
    await until('it is ready', () => times('READY=1') === 1)
    const [, smtp, http] = /^smtp=(\d+) http=(\d+)$/m.exec(told)!.map(Number)
    await until('it keeps saying that it is well', () => times('WATCHDOG=1') >= 2)
    t.match(await greeting(smtp!), /^220 mail\.ours\.example/)
    t.equal(await health(http!), 200)
    t.match(log, /systemd passed a socket that the setting does not name/)

    // Connections are made all the while, before, during and after: each is taken by one process or the next.
    let restarted = false
    const answers: Promise<string>[] = []
    const statuses: Promise<number | undefined>[] = []
    const opening = (async () => {
      while (!restarted) {
        answers.push(greeting(smtp!))
        statuses.push(health(http!))
        await Promise.race([answers.at(-1), once(manager.stdout, 'data')])
      }
    })()
    manager.stdin.write('restart\n')
    await until('it stops', () => times('STOPPING=1') === 1)
    // Nobody is there now, or about to be: these wait.
    answers.push(greeting(smtp!), greeting(smtp!))
    await until('it is ready again', () => times('READY=1') === 2)
    restarted = true
    await opening
    for (const one of await Promise.all(answers)) t.match(one, /^(220 |421 |$)/, 'it was accepted')
    for (const one of await Promise.all(statuses)) t.match(String(one), /^(200|503)$/)
    t.match(await greeting(smtp!), /^220 /)
    manager.stdin.end()
    await ended
  },
)

/** The first line that a new connection is told; empty when it is closed without a word. */
async function greeting(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', data => {
    text += data
    socket.destroy()
  })
  await once(socket, 'close')
  return text.split('\r\n')[0]!
}

/** The status that a connection of its own is answered. */
async function health(port: number): Promise<number | undefined> {
  const asked = get({ host: '127.0.0.1', port, path: '/health', agent: false })
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode
}
