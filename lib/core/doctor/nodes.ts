import { availableParallelism } from 'node:os'
import { postgresReaders, smtpThreadsMax } from '../../base/threads.ts'
import { type Finding, finding, notChecked } from '../../mail/domain/finding.ts'
import { type ListedNode, listNodes } from '../../store/nodes.ts'
import { findReplication, findRoom, type Replication } from '../../store/postgres/state.ts'
import type { NodeRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { settingsMarks } from '../nodes/settings-marks.ts'

type Asked = Pick<App, 'config'> & {
  readonly store: Pick<App['store'], 'dialect' | 'read'>
  readonly nodes: Pick<App['nodes'], 'id'>
}

/** What of the log a standby that keeps up has not flushed yet. */
const mostBehindBytes = 16 * 1024 * 1024
const withoutStandby = `alter system set synchronous_standby_names = ''; select pg_reload_conf()`
/** Of those who are no node: mailboxctl, the doctor, a backup. */
const connectionsBeside = 8

/** Checks the daemons on one server and what they need of it: whether all work, are set alike, and find room; and what follows the server. */
export async function checkNodes(app: Asked): Promise<Finding[]> {
  const { config, store, nodes } = app
  if (store.dialect === 'sqlite') return []
  const rows = await listNodes(store.read)
  const up = rows.filter(({ state }) => state === 'up')
  const others = up.filter(({ id }) => id !== nodes.id)
  return [
    ...replicationFaults(await findReplication(store.read), up.length),
    ...connectionFaults(await findRoom(store.read), config, Math.max(up.length, 1)),
    ...rows.filter(({ state }) => state === 'gone').map(gone),
    ...up.filter(({ isDraining }) => isDraining === 1).map(drains),
    ...versionFaults(up),
    ...others.flatMap(row => differences(row, config)),
    ...up.filter(({ isLate }) => isLate).map(silent),
  ]
}

const named = ({ name, id }: Pick<NodeRow, 'name' | 'id'>) => `${name} (${id})`

function replicationFaults(found: Replication, nodes: number): Finding[] {
  const { synchronousNames, synchronousCommit, standbys } = found
  const subject = 'replication'
  if (standbys.some(({ name }) => name === null)) {
    const message = 'the user of mailboxd may not see who follows the server'
    return [{ ...notChecked(subject, message, 'hint'), paste: 'grant pg_monitor to mailboxd' }]
  }
  const isAsked = synchronousNames !== ''
  const late = standbys
    .filter(({ behindBytes }) => behindBytes > mostBehindBytes)
    .map(({ name, behindBytes }) => {
      const message = `the standby ${name} is ${Math.round(behindBytes / 2 ** 20)} MiB of the log behind: what came since is not on it`
      return finding('warning', 'standby_late', subject, message, 'select * from pg_stat_replication')
    })
  if (isAsked && !standbys.some(({ isSynchronous }) => isSynchronous)) {
    const message = `the server is to wait for a standby (synchronous_standby_names is ${synchronousNames}), and none follows it so: no write ends, and mail is put off. Start the standby, or go on without it, and what is taken until it is back is on this server alone`
    return [finding('error', 'standby_missing', subject, message, withoutStandby), ...late]
  }
  if (standbys.length > 0 && (!isAsked || synchronousCommit === 'local')) {
    const why = isAsked ? 'synchronous_commit is local' : 'synchronous_standby_names is empty'
    const message = `a standby follows the server, and no commit waits for it (${why}): when it takes over, mail that was taken last is lost`
    const paste = isAsked ? 'synchronous_commit = on' : `synchronous_standby_names = '*'`
    return [finding('warning', 'standby_asynchronous', subject, message, paste), ...late]
  }
  if (standbys.length === 0 && nodes > 1) {
    const message = `${nodes} nodes have their rows on one server, which no standby follows as far as it says: with it all of them stand still`
    return [finding('hint', 'standby_none', subject, message)]
  }
  return late
}

/** What a node set like this one opens at the most: its pool, of each thread of sessions and of the index a few, the bell and the lock. */
function connectionsOf({ postgres, smtp }: App['config']): number {
  const threads = smtp.threads || Math.min(availableParallelism(), smtpThreadsMax)
  return postgres.connections + (threads + 1) * postgresReaders + 2
}

function connectionFaults(room: number, config: App['config'], nodes: number): Finding[] {
  const needed = nodes * connectionsOf(config) + connectionsBeside
  if (needed <= room) return []
  const message = `${nodes === 1 ? 'the node opens' : `${nodes} nodes open`} up to ${needed - connectionsBeside} connections, and the server has ${room} for them (max_connections, and the limits of the role and the database): above it writes fail. Allow ${needed}, or lower postgres.connections`
  return [
    finding(
      'warning',
      'connections_few',
      'max_connections',
      message,
      `alter system set max_connections = ${needed + connectionsBeside}`,
    ),
  ]
}

function gone(row: NodeRow): Finding {
  const message = `it ended without a word (its lease ended at ${row.leasedUntil}), and the others took over what it had: start it, or leave it (it is forgotten after a week)`
  return finding('warning', 'node_silent', named(row), message, 'systemctl start mailboxd')
}

function drains(row: NodeRow): Finding {
  const message = 'it drains: it takes nothing from the queue, and /health is 503'
  return finding('hint', 'node_drains', named(row), message, `mailboxctl node resume ${row.id}`)
}

function versionFaults(up: readonly NodeRow[]): Finding[] {
  const versions = [...new Set(up.map(({ version }) => version))].sort()
  if (versions.length < 2) return []
  const message = `they run ${versions.length} versions (${versions.join(', ')}), which is for the time of an upgrade: end it on all of them`
  return [finding('warning', 'node_versions', 'nodes', message, 'mailboxctl node list')]
}

/** How another node is set otherwise than this configuration says. */
function differences(row: NodeRow, config: App['config']): Finding[] {
  if (row.settings === null) return []
  const [theirs, ours]: Record<string, string>[] = [JSON.parse(row.settings), settingsMarks(config)]
  const names = new Set([...Object.keys(theirs!), ...Object.keys(ours!)])
  const differing = [...names].filter(name => theirs![name] !== ours![name]).sort()
  if (differing.length === 0) return []
  const message = `it was started with other settings than this node has: ${differing.join(', ')}. Which of the two answers is chance: set all alike, and restart them`
  return [finding('warning', 'node_differs', named(row), message, 'systemctl restart mailboxd')]
}

function silent(row: ListedNode): Finding {
  const message = `it should work, and its lease is over (since ${row.leasedUntil}): it hangs, or does not reach the database. The others take over what it has`
  return finding('warning', 'node_silent', named(row), message, 'systemctl restart mailboxd')
}
