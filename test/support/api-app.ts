import { join } from 'node:path'
import type { Test } from 'tap'
import { operations } from '../../lib/api/index.ts'
import { openApiDocument } from '../../lib/api/openapi.ts'
import { createIds } from '../../lib/base/ids.ts'
import { createLog, type Log } from '../../lib/base/log.ts'
import { type Clock, systemClock } from '../../lib/base/time.ts'
import { parseConfig } from '../../lib/config/load.ts'
import { createKey } from '../../lib/core/account/keys.ts'
import type { App } from '../../lib/core/app/app.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { openApp } from '../../lib/core/open.ts'
import { createHttpDoor, type HttpDoor } from '../../lib/http/server.ts'
import { type Api, apiOf } from './api.ts'
import { type Contract, createContract } from './contract.ts'
import { makeDataDir } from './migrated.ts'
import { bucketOfStories, serverOfStories } from './places-of-stories.ts'
import { requireUnbroken } from './rows-unbroken.ts'
import { temporaryDir } from './temporary-dir.ts'

/** Real time that a test can move on. */
export interface TestClock extends Clock {
  advance(ms: number): void
  /** Stops it: from now on it moves only as it is told to. */
  stand(): void
}

/** The API over a real database in this process: no SMTP, no queue runner, so nothing that is sent leaves `pending`. */
export interface ApiApp {
  readonly app: App
  readonly door: HttpDoor
  readonly baseUrl: string
  readonly port: number
  readonly clock: TestClock
  /** What was logged at `error`: a request must never cause any. */
  readonly faults: readonly string[]
  /** The token of an account-wide key. */
  readonly token: string
  /** A client with that key. */
  readonly api: Api
  /** A client whose every answer is held against the OpenAPI document. */
  apiWith(token: string | undefined): Api
  /** Takes the database away below the API. */
  closeStore(): Promise<void>
  /** Closes all and opens it again on the same data. */
  restart(): Promise<ApiApp>
  close(): Promise<void>
}

export interface ApiSettings {
  readonly requestsPerMinute?: number
  /** "127.0.0.1:port" of the test's DNS; without it nothing answers. */
  readonly dns?: string
  /** More TOML of [http]; unless said, one address may have as many connections as all. */
  readonly http?: string
  /** The name of the server and of its account, as local mode has it; without it the server has two names of example domains. */
  readonly name?: string
  /** TOML above the first table. */
  readonly top?: string
  /** More TOML. */
  readonly toml?: string
  /** Names of the invariants that the test itself breaks, by rows that no rule writes. */
  readonly breaks?: readonly string[]
}

export async function startApi(t: Test, settings: ApiSettings = {}): Promise<ApiApp> {
  const server = await serverOfStories()
  const [blobs, s3] = await bucketOfStories(t, settings.top)
  const places = {
    top: `${server === undefined ? '' : `database = "${server}"\n`}${blobs}${settings.top ?? ''}`,
    toml: `${settings.toml ?? ''}\n${s3}`,
  }
  return open(t, { ...settings, ...places }, temporaryDir(t), createClock(), undefined)
}

let contract: Contract | undefined

/** To read the schemas of all operations takes half a second of the processor, and they are the same at every address. */
function declared(): Contract {
  contract ??= createContract(operations, openApiDocument(operations, [], 'http://localhost'))
  return contract
}

function createClock(): TestClock {
  let ahead = 0
  let stopped: { at: number; monotonicMs: number } | undefined
  return {
    now: () => new Date((stopped?.at ?? Date.now()) + ahead),
    monotonicMs: () => (stopped?.monotonicMs ?? performance.now()) + ahead,
    advance(ms) {
      ahead += ms
    },
    stand() {
      stopped ??= { at: Date.now(), monotonicMs: performance.now() }
    },
  }
}

async function open(
  t: Test,
  settings: ApiSettings,
  dir: string,
  clock: TestClock,
  tokenBefore: string | undefined,
): Promise<ApiApp> {
  const config = parseConfig(
    `hostname = "${settings.name ?? 'mail.ours.example'}"
account_domain = "${settings.name ?? 'ours.example'}"
${settings.top ?? ''}
data_dir = "${join(dir, 'data')}"
[http]
requests_per_minute = ${settings.requestsPerMinute ?? 1_000_000}
${settings.http ?? 'max_connections_per_address = 5000\nmax_connections_per_block = 5000'}
[dns]
servers = ["${settings.dns ?? '127.0.0.1:9'}"]
[authentication]
check = false
${settings.toml ?? ''}`,
    'test',
  )
  const faults: string[] = []
  const log: Log = createLog('error', {
    // Without a name server none answers.
    write: line => {
      if (settings.dns !== undefined || !line.includes('DNS does not answer')) faults.push(line)
    },
  })
  let baseUrl = ''
  await makeDataDir(config.data_dir)
  const { app } = await openApp({
    mayMigrate: true,
    config,
    clock,
    ids: createIds(systemClock),
    log,
    random: Math.random,
    baseUrl: () => baseUrl,
    ownPorts: () => [],
  })
  await app.nodes.join()
  const door = createHttpDoor(app)
  const { port } = await door.listen('127.0.0.1', 0)
  baseUrl = `http://127.0.0.1:${port}`
  const token = tokenBefore ?? (await createKey(app, operator, { account: true }, null)).token
  const apiWith = (key: string | undefined) => apiOf(baseUrl, key, declared())
  let stopped: Promise<void> | undefined
  let closed: Promise<void> | undefined
  const closeStore = () => {
    app.webhookCourier.close()
    void app.textReader.stop()
    closed ??= app.store.close()
    return closed
  }
  const close = async () => {
    stopped ??= door.stop()
    await stopped
    if (!closed) await requireUnbroken(app, settings.breaks ?? [])
    await closeStore()
  }
  t.teardown(close)
  return {
    app,
    door,
    baseUrl,
    port,
    clock,
    faults,
    token,
    api: apiWith(token),
    apiWith,
    closeStore,
    async restart() {
      await close()
      return open(t, settings, dir, clock, token)
    },
    close,
  }
}
