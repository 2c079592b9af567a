import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { notRunning, takenPorts } from '../../lib/cli/not-running.ts'
import { localConfig, parseConfig } from '../../lib/config/load.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

t.test(
  'what starts it goes with the installation that is meant, and so does what keeps it from its start',
  async t => {
    const other = createServer().listen(0, '127.0.0.1')
    t.teardown(() => other.close())
    await once(other, 'listening')
    const taken = `127.0.0.1:${(other.address() as AddressInfo).port}`
    const dataDir = temporaryDir(t)
    const file = join(dataDir, 'mailboxd.toml')
    const config = parseConfig(
      `hostname = "mail.ours.example"
account_domain = "ours.example"
data_dir = "${dataDir}"
[smtp]
listen = ["${taken}"]
[http]
listen = ["127.0.0.1:0"]`,
      file,
    )
    const told = (installation: { config?: string; data?: string }, found = config) =>
      [notRunning(installation, found), ...takenPorts(installation, found)].map(
        ({ code, paste }) => `${code} ${paste}`,
      )
    t.match(told({ config: file }), [`not_running mailboxd --config ${file}`, /^port_taken ss /])
    t.match(told({ config: '/etc/mailboxd/mailboxd.toml' }), [
      'not_running systemctl start mailboxd',
      /^port/,
    ])
    t.strictSame(
      told({ data: dataDir }, localConfig({ dataDir, smtp: taken })),
      [`not_running mailboxd --data ${dataDir}`],
      'in local mode it takes another port',
    )
    const [port] = takenPorts({ config: file }, config)
    t.match(port?.message, new RegExp(`^\\S+ \\(process ${process.pid}\\) listens there, `))
  },
)
