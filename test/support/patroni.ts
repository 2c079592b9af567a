import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Contained, childrenOf, startContained } from './contained.ts'
import { getPeer } from './peers.ts'
import { freePort } from './ports.ts'
import { runProgram } from './program.ts'
import { until } from './until.ts'

/** Seconds, as Patroni has them. */
export const patroniTimes = { ttl: 15, loop_wait: 1, retry_timeout: 5 }

/** One PostgreSQL and the Patroni that leads it, as on a machine of their own. */
export interface PatroniMember {
  readonly name: string
  /** Where its Patroni answers which role it has, for a proxy's checks. */
  readonly rest: string
  /** A database of it by its name. */
  url(database: string): string
  readonly host: string
  /** What Patroni and PostgreSQL have said. */
  log(): string
  /** Both are gone at once, as with their machine. */
  kill(): Promise<void>
  start(): void
  /** Both stand still. */
  freeze(): Promise<void>
  /** PostgreSQL goes on without who leads it. */
  freezePatroni(): Promise<void>
  thawPostgres(): void
  thaw(): void
}

export interface PatroniCluster {
  readonly members: readonly PatroniMember[]
  /** Who has the leader's lock and takes writes; undefined while nobody does. */
  leader(): Promise<PatroniMember | undefined>
  /** The state of each as Patroni tells it: `leader running`, `sync_standby streaming`. */
  states(): Promise<readonly string[]>
  /** One leads, and all others follow it, one of them in step. */
  isWhole(): Promise<boolean>
  switchover(from: PatroniMember): Promise<string>
  stopEtcd(): Promise<void>
  startEtcd(): Promise<void>
  stop(): Promise<void>
}

/** Who they run as: PostgreSQL refuses root. */
const nobody = 65534
const host = '127.0.0.1'
const readyMs = 120_000

interface Told {
  readonly members: readonly { readonly name: string; readonly role: string; readonly state: string }[]
}

/**
 * Starts etcd and so many members on free ports of loopback, in a directory that `stop` removes. The first is the leader. It needs root, for
 * each has a namespace of processes of its own, in which it can be killed or stopped as a machine.
 */
export async function startPatroni(count: number): Promise<PatroniCluster> {
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-patroni-'))
  chownSync(dir, nobody, nobody)
  const [etcdPort, etcdPeerPort] = [await freePort(host), await freePort(host)]
  let etcd: Contained | undefined
  const startEtcd = async () => {
    const [clients, peers] = [`http://${host}:${etcdPort}`, `http://${host}:${etcdPeerPort}`]
    const given = {
      'data-dir': join(dir, 'etcd'),
      'listen-client-urls': clients,
      'advertise-client-urls': clients,
      'listen-peer-urls': peers,
      'initial-advertise-peer-urls': peers,
      'initial-cluster': `default=${peers}`,
      // Patroni 3.0 by the other protocol confirms what is lost: a leader that stood still takes back its lock.
      'enable-v2': 'true',
    }
    etcd = contained(join(dir, 'etcd.log'), [
      getPeer('etcd'),
      ...Object.entries(given).map(([name, value]) => `--${name}=${value}`),
    ])
    const isReady = async () => (await fetch(`${clients}/health`).catch(() => undefined))?.ok
    await until('etcd', isReady, readyMs)
  }
  await startEtcd()
  const members: (PatroniMember & { readonly config: string })[] = []
  for (let n = 0; n < count; n++) {
    members.push(await newMember(dir, `member${n + 1}`, etcdPort))
    members[n]!.start()
    // The first makes the data, of which the others take theirs.
    const ready = () => ask(members[n]!.rest, n === 0 ? '/primary' : '/replica')
    await until(`${members[n]!.name}\n${n}`, async () => (await ready())?.ok, readyMs)
  }
  const told = async (): Promise<Told['members']> => {
    for (const { rest } of members) {
      const answer = await ask(rest, '/cluster')
      if (answer?.ok) return ((await answer.json()) as Told).members
    }
    return []
  }
  const cluster: PatroniCluster = {
    members,
    async leader() {
      for (const member of members) if ((await ask(member.rest, '/primary'))?.ok) return member
      return undefined
    },
    states: async () => (await told()).map(({ name, role, state }) => `${name} ${role} ${state}`),
    async isWhole() {
      const all = await told()
      const roles = all.map(({ role }) => role)
      return (
        all.length === count &&
        roles.filter(role => role === 'leader').length === 1 &&
        roles.includes('sync_standby') &&
        all.every(({ state, role }) =>
          role === 'leader' ? state === 'running' : /^(running|streaming)$/.test(state),
        )
      )
    },
    async switchover({ name }) {
      const { config } = members[0]!
      const args = ['-c', config, 'switchover', '--leader', name, '--force']
      const { code, stdout, stderr } = await runProgram(`${getPeer('patroni')}ctl`, args)
      if (code !== 0) throw new Error(`patronictl ended with ${code}: ${stdout}${stderr}`)
      return stdout
    },
    stopEtcd: async () => etcd?.stop(),
    startEtcd,
    async stop() {
      await Promise.all(members.map(member => member.kill()))
      await etcd?.stop()
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  await until('the members in step', cluster.isWhole, readyMs)
  return cluster
}

/** It is asked by whoever waits for something: no answer is one, too. */
const ask = (rest: string, path: string) =>
  fetch(`http://${rest}${path}`, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined)

/** Runs a program as nobody, in a namespace of processes with which it ends. */
function contained(log: string, command: readonly string[]): Contained {
  // Patroni looks for its PostgreSQL in /proc.
  const inside = 'mount -t proc proc /proc && exec "$@"'
  const demotion = ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups', '--']
  return startContained('sh', ['-c', inside, 'sh', ...demotion, ...command], { log, mounts: true })
}

async function newMember(dir: string, name: string, etcdPort: number) {
  const own = join(dir, name)
  mkdirSync(own)
  chownSync(own, nobody, nobody)
  const [port, restPort] = [await freePort(host), await freePort(host)]
  const rest = `${host}:${restPort}`
  const config = join(own, 'patroni.json')
  const data = join(own, 'data')
  const log = join(own, 'log')
  writeFileSync(
    config,
    JSON.stringify({
      scope: 'mail',
      name,
      etcd: { host: `${host}:${etcdPort}` },
      restapi: { listen: rest, connect_address: rest },
      bootstrap: {
        dcs: {
          ...patroniTimes,
          synchronous_mode: true,
          postgresql: { use_pg_rewind: true, use_slots: true },
        },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, { 'wal-segsize': '1' }],
      },
      postgresql: {
        listen: `${host}:${port}`,
        connect_address: `${host}:${port}`,
        data_dir: data,
        bin_dir: dirname(getPeer('postgres')),
        pgpass: join(own, 'pgpass'),
        pg_hba: [
          'local all all trust',
          'host all all 127.0.0.1/32 trust',
          'host replication all 127.0.0.1/32 trust',
        ],
        authentication: {
          superuser: { username: 'postgres', password: 'any' },
          replication: { username: 'replicator', password: 'any' },
        },
        // Processes end here, and no machine: nothing waits for a disk.
        parameters: { unix_socket_directories: own, fsync: 'off', shared_buffers: '32MB' },
        remove_data_directory_on_rewind_failure: true,
        remove_data_directory_on_diverged_timelines: true,
      },
    }),
  )
  let machine: Contained | undefined
  const processes = () => descendants(machine?.pid ?? 0)
  const postgres = () => processes().filter(pid => nameOf(pid) === 'postgres')
  const signal = (pids: readonly number[], name: NodeJS.Signals) => {
    for (const pid of pids) {
      try {
        process.kill(pid, name)
      } catch {
        // It has ended meanwhile.
      }
    }
  }
  // Who is stopped starts no other.
  const freeze = (those: () => number[]) =>
    until(`${name} to stand still`, () => {
      signal(those(), 'SIGSTOP')
      return those().every(pid => stateOf(pid) === 'T')
    }).then(() => {})
  return {
    name,
    host: `${host}:${port}`,
    rest,
    config,
    url: (database: string) => `postgres://postgres@${host}:${port}/${database}`,
    log: () => readFileSync(log, 'utf8'),
    start() {
      machine = contained(log, [getPeer('patroni'), config])
    },
    kill: async () => machine?.stop(),
    freeze: () => freeze(processes),
    freezePatroni: () => freeze(() => processes().filter(pid => nameOf(pid) !== 'postgres')),
    thawPostgres: () => signal(postgres(), 'SIGCONT'),
    thaw: () => signal(processes(), 'SIGCONT'),
  }
}

function descendants(pid: number): number[] {
  const children = childrenOf(pid)
  return [...children, ...children.flatMap(descendants)]
}

const statOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}

const nameOf = (pid: number) => /\((.*)\)/.exec(statOf(pid))?.[1]
/** One that has ended stands still, too. */
const stateOf = (pid: number) => /\) (?!Z)(\w)/.exec(statOf(pid))?.[1] ?? 'T'
