import { type ChildProcess, spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { localConfig } from '../../../lib/config/load.ts'
import { checkNodes } from '../../../lib/core/doctor/nodes.ts'
import { settingsMarks } from '../../../lib/core/nodes/settings-marks.ts'
import type { Finding } from '../../../lib/mail/domain/finding.ts'
import { openReader, openStore, type Store } from '../../../lib/store/open.ts'
import type { NodeRow } from '../../../lib/store/tables.ts'
import { kill } from '../../support/contained.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { getPeer, without } from '../../support/peers.ts'
import { migratedDatabase } from '../../support/postgres.ts'
import { nodeRow, putNodeRow } from '../../support/rows.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { until } from '../../support/until.ts'

const skip = without('postgres')

async function installation(t: Test) {
  const url = await newPostgresDatabase(migratedDatabase)
  const store = await openStore(url, systemClock)
  t.teardown(() => store.close())
  const server = new pg.Client({ connectionString: url })
  await server.connect()
  t.teardown(() => server.end())
  const local = localConfig()
  const config = { ...local, smtp: { ...local.smtp, threads: 2 } }
  const put = (id: string, given: Partial<NodeRow> = {}) => {
    const settings = JSON.stringify(settingsMarks(config))
    return store.write(db => putNodeRow(db, nodeRow(id, { name: 'mx', settings, ...given })))
  }
  const find = (asked: Pick<Store, 'dialect' | 'read'> = store) =>
    checkNodes({ store: asked, config, nodes: { id: 'own' } })
  return { url, server, config, put, find }
}

const short = (found: readonly Finding[]) =>
  found.map(({ level, code, subject, paste }) => [level, code, subject, paste])

/** PostgreSQL's own program that follows a server, and keeps its log. */
function receive(t: Test, url: string): ChildProcess {
  const program = join(dirname(getPeer('postgres')), 'pg_receivewal')
  const args = [
    '--pdeathsig',
    'KILL',
    '--',
    program,
    '-D',
    temporaryDir(t),
    '-d',
    url,
    '--synchronous',
    '--no-loop',
  ]
  const child = spawn('setpriv', args, { stdio: 'ignore' })
  t.teardown(() => kill(child))
  return child
}

const alone = ['hint', 'standby_none', 'replication', null]

t.test('nodes that hang, ended, drain, or have another version or configuration', { skip }, async t => {
  const { config, put, find } = await installation(t)
  await put('own')
  t.strictSame(short(await find()), [], 'one node is as well off as it says')
  await put('well')
  t.strictSame(short(await find()), [alone])

  await put('hangs', { leasedUntil: new Date(0).toISOString() })
  await put('gone', { state: 'gone' })
  await put('stopped', { state: 'stopped', version: '0.0.1' })
  await put('drains', { isDraining: 1 })
  await put('other', {
    version: '0.2.0',
    settings: JSON.stringify(
      settingsMarks({ ...config, hostname: 'mx2.example.com', smtp: { ...config.smtp, max_size: 1 } }),
    ),
  })
  // What is a machine's own.
  await put('elsewhere', {
    settings: JSON.stringify(
      settingsMarks({ ...config, data_dir: '/x', smtp: { ...config.smtp, threads: 3, listen: [] } }),
    ),
  })
  await put('before', { settings: null })
  const start = 'systemctl start mailboxd'
  const restart = 'systemctl restart mailboxd'
  const found = await find()
  t.strictSame(short(found), [
    alone,
    ['warning', 'connections_few', 'max_connections', 'alter system set max_connections = 142'],
    ['warning', 'node_silent', 'mx (gone)', start],
    ['hint', 'node_drains', 'mx (drains)', 'mailboxctl node resume drains'],
    ['warning', 'node_versions', 'nodes', 'mailboxctl node list'],
    ['warning', 'node_differs', 'mx (other)', restart],
    ['warning', 'node_silent', 'mx (hangs)', restart],
  ])
  t.match(found.find(({ code }) => code === 'node_differs')?.message, /: hostname, smtp\. Which/)
})

t.test('who follows the server', { skip }, async t => {
  const { url, server, put, find } = await installation(t)
  await put('own')
  const receiver = receive(t, url)
  const appears = (what: string, query: string) =>
    until(what, async () => (await server.query(query)).rows.length > 0)
  await appears('who follows', `select 1 from pg_stat_replication where state = 'streaming'`)
  t.strictSame(short(await find()), [
    ['warning', 'standby_asynchronous', 'replication', "synchronous_standby_names = '*'"],
  ])

  await server.query('create role plain login')
  await server.query('grant select on all tables in schema public to plain')
  const plain = await openReader(url.replace('postgres@', 'plain@'))
  t.teardown(() => plain.close())
  t.strictSame(short(await find({ dialect: 'postgres', read: plain.read })), [
    ['hint', 'not_checked', 'replication', 'grant pg_monitor to mailboxd'],
  ])

  await server.query(`alter system set synchronous_standby_names = '*'`)
  await server.query('select pg_reload_conf()')
  await appears('it to be waited for', `select 1 from pg_stat_replication where sync_state = 'sync'`)
  t.strictSame(short(await find()), [])

  receiver.kill('SIGSTOP')
  await server.query('set synchronous_commit = local')
  await server.query(`select pg_logical_emit_message(false, 'x', repeat('x', 40000000))`)
  const look = ['select * from pg_stat_replication']
  t.strictSame(short(await find()), [['warning', 'standby_late', 'replication', ...look]])

  await kill(receiver)
  const none = 'select 1 where not exists (select 1 from pg_stat_replication)'
  await appears('nobody to follow', none)
  t.strictSame(short(await find()), [
    [
      'error',
      'standby_missing',
      'replication',
      `alter system set synchronous_standby_names = ''; select pg_reload_conf()`,
    ],
  ])
})
