import t from 'tap'
import { apiOf } from '../support/api.ts'
import { builtProgram } from '../support/built.ts'
import { clockStep } from '../support/clock-step.ts'
import { startDaemon } from '../support/daemon.ts'
import { newPostgresDatabase } from '../support/databases.ts'
import { createInbox } from '../support/mailbox.ts'
import { without } from '../support/peers.ts'
import { migratedDatabase } from '../support/postgres.ts'
import { runProgram } from '../support/program.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { until } from '../support/until.ts'

const hour = 3_600

t.test(
  "a node whose clock is not that of the database's server: it does nothing, and does not start",
  { skip: without('gcc') || without('postgres') },
  async t => {
    const { env, set } = clockStep(t)
    const database = await newPostgresDatabase(migratedDatabase)
    const daemon = await startDaemon(t, { env, database })
    const { id, address } = await createInbox(daemon, 'ann')
    const api = apiOf(daemon.baseUrl, (await daemon.createKey()).token)
    const health = async () => {
      const answer = await api.get('/health')
      return { status: answer.status, text: JSON.stringify(answer.body) }
    }
    const send = () => api.send(id, { to: 'bob@theirs.example', subject: 's', body: 'b' }, 'one key')
    const dialog = await greetedDialog(daemon.smtpPort)
    const recipient = async () => {
      await dialog.say('MAIL FROM:<bob@example.net>')
      const { code } = await dialog.say(`RCPT TO:<${address}>`)
      await dialog.say('RSET')
      return code
    }
    const first = await send()
    t.equal(first.status, 200)
    t.equal(await recipient(), 250)

    for (const [hours, way] of [
      [30, 'ahead of'],
      [-30, 'behind'],
    ] as const) {
      set(hours * hour)
      const again = await send()
      t.equal(again.status, 503, 'the first request after it, too')
      t.match(await health(), {
        status: 503,
        text: new RegExp(
          `The clock of this machine is 10\\d{4} seconds ${way} that of the database's server`,
        ),
      })
      t.equal(await recipient(), 451)
      set(0)
      await until('it to heal', async () => (await health()).status === 200)
      t.equal((await send()).body.messageId, first.body.messageId, 'the key was kept')
      t.equal(await recipient(), 250)
    }
    dialog.end()
    const told = (of: RegExp) => daemon.log().filter(({ msg }) => of.test(String(msg)))
    t.match(told(/^the database can not be written/)[0], { why: /timedatectl set-ntp true/ })

    t.equal(await daemon.end('SIGTERM'), 0)
    set(30 * hour)
    const run = (name: 'mailboxd' | 'mailboxctl', ...args: string[]) =>
      runProgram(process.execPath, [builtProgram(name), '--config', daemon.configPath, ...args], undefined, {
        env,
      })
    const apart = /clock of this machine is 10\d{4} seconds ahead of that of the database's server/
    t.match(await run('mailboxctl', 'key', 'create'), { code: 70, stdout: '', stderr: apart })
    t.match((await run('mailboxctl', 'doctor')).stdout, apart)
    t.match(await run('mailboxd'), {
      code: 1,
      stdout: '',
      stderr:
        /^mailboxd can not start: the clock of this machine is 10\d{4} seconds ahead of that of the database's server: have both follow a time server \(timedatectl set-ntp true\); it may be the server's that is wrong\n$/,
    })
  },
)
