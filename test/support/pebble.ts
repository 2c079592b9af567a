import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { get } from 'node:https'
import { join } from 'node:path'
import type { Test } from 'tap'
import { writeIssuedCertificate } from './certificate.ts'
import { freePort } from './ports.ts'
import { temporaryDir } from './temporary-dir.ts'
import { until } from './until.ts'

export interface Pebble {
  /** The address of its directory. */
  readonly directory: string
  /** The root that its own HTTPS is verified with: as a file, and as PEM. */
  readonly caPath: string
  readonly ca: string
  /** Where it asks the questions of http-01, on 127.0.0.1, whatever the name. */
  readonly httpPort: number
  stop(): Promise<void>
}

export interface PebbleOptions {
  /** How many of a hundred good nonces it refuses. */
  readonly refusedNonces?: number
}

/** A real CA with ACME (Let's Encrypt's Pebble) on loopback, and its DNS, in which every name is 127.0.0.1. */
export async function startPebble(t: Test, { refusedNonces = 50 }: PebbleOptions = {}): Promise<Pebble> {
  const dir = join(temporaryDir(t), 'pebble')
  mkdirSync(dir)
  const { leaf, intermediate, root, key } = await writeIssuedCertificate(dir, 'localhost')
  const [port, management, dns, dnsManagement, httpPort, tlsPort] = await Promise.all(
    Array.from({ length: 6 }, () => freePort('127.0.0.1')),
  )
  const config = join(dir, 'pebble.json')
  const certificate = join(dir, 'server.pem')
  const caPath = join(dir, 'ca.pem')
  writeFileSync(certificate, leaf + intermediate)
  writeFileSync(caPath, root)
  const listening = { listenAddress: `127.0.0.1:${port}`, managementListenAddress: `127.0.0.1:${management}` }
  const own = { certificate, privateKey: key, httpPort, tlsPort }
  writeFileSync(config, JSON.stringify({ pebble: { ...listening, ...own } }))
  const none = ['-http01', '', '-https01', '', '-tlsalpn01', '']
  const names = ['-dns01', `127.0.0.1:${dns}`, '-defaultIPv4', '127.0.0.1', '-defaultIPv6', '']
  const children = [
    spawn('pebble-challtestsrv', [...none, ...names, '-management', `127.0.0.1:${dnsManagement}`], {
      stdio: 'ignore',
    }),
    spawn('pebble', ['-config', config, '-dnsserver', `127.0.0.1:${dns}`], {
      stdio: 'ignore',
      env: { ...process.env, PEBBLE_WFE_NONCEREJECT: `${refusedNonces}`, PEBBLE_VA_NOSLEEP: '1' },
    }),
  ]
  const stop = async () => {
    await Promise.all(children.map(end))
  }
  t.teardown(stop)
  const directory = `https://localhost:${port}/dir`
  await until('pebble', () => isAnswered(directory, root), 30_000)
  return { directory, caPath, ca: await readFile(caPath, 'utf8'), httpPort: httpPort!, stop }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

function isAnswered(url: string, ca: string): Promise<boolean> {
  return new Promise(resolve => {
    const request = get(url, { ca, agent: false, timeout: 2_000 }, response => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
  })
}
