import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startBucket } from '../support/bucket.ts'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import { newPostgresDatabase } from '../support/databases.ts'
import { newNodeDir } from '../support/nodes.ts'
import { startPebble } from '../support/pebble.ts'
import { without } from '../support/peers.ts'
import { freePort } from '../support/ports.ts'
import { migratedDatabase } from '../support/postgres.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { until } from '../support/until.ts'

/** Until a node is taken for gone and another looks, on a busy machine. */
const goneMs = 150_000

t.test(
  'of several nodes one orders, whichever the CA asks answers, and all have the certificate; one that dies is followed by another',
  { skip: without('pebble', 'postgres') },
  async t => {
    const pebble = await startPebble(t)
    process.env.NODE_EXTRA_CA_CERTS = pebble.caPath
    t.teardown(() => delete process.env.NODE_EXTRA_CA_CERTS)
    const { toml: bucket } = await startBucket(t)
    const database = await newPostgresDatabase(migratedDatabase)
    const start = async (name: string, port: number, dataDir?: string) => {
      const acme = `[acme]\ndirectory = "${pebble.directory}"\nterms_agreed = true\nnames = ["${name}"]\nlisten = ["127.0.0.1:${port}"]\n`
      return startDaemon(t, { database, toml: `${bucket}${acme}`, ...(dataDir && { dataDir }) })
    }
    const shown = async (daemon: TestDaemon) => {
      const dialog = await greetedDialog(daemon.smtpPort)
      const { issuer } = await dialog.startTls()
      dialog.vanish()
      return issuer
    }
    const has = (daemon: TestDaemon) =>
      until('a certificate of the CA', async () => (await shown(daemon)).includes('Pebble'), goneMs)
    const said = (daemon: TestDaemon, words: RegExp) =>
      daemon.log().filter(({ msg }) => words.test(String(msg))).length
    const fileOf = (daemon: TestDaemon, name: string) =>
      readFileSync(join(daemon.dataDir, 'acme', name), 'utf8')

    // The CA comes to this one alone, whatever it is asked about.
    const asked = await start('first.example', pebble.httpPort)
    await has(asked)
    const elsewhere = () => freePort('127.0.0.1')
    const killed = await start('shared.example', await elsewhere(), newNodeDir(t, asked))
    await until('its order', () => said(killed, /certificate is ordered/) === 1)
    await killed.end('SIGKILL')
    const next = await start('shared.example', await elsewhere(), newNodeDir(t, asked))
    await has(next)
    t.equal(said(next, /certificate is ordered/), 1)
    const back = await killed.restart()
    await has(back)
    t.equal(said(back, /certificate is ordered/), 0)
    t.equal(said(back, /another node has got/), 1)
    t.equal(fileOf(back, 'certificate.pem'), fileOf(next, 'certificate.pem'))
    const keys = [asked, next].map(one => fileOf(one, 'account-key.pem'))
    t.equal(new Set(keys).size, 1, 'all are one account of the CA')
    for (const one of [asked, back, next]) {
      const faults = one.log().filter(({ level }) => level === 'error')
      t.strictSame(faults, [])
      t.equal(await one.end('SIGTERM'), 0)
    }
  },
)
