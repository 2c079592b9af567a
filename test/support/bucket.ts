import { mkdirSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type S3rver from '@20minutes/s3rver'
import type { Test } from 'tap'
import type { BucketSettings } from '../../lib/blob/bucket/s3.ts'
import { freePort } from './ports.ts'
import { temporaryDir } from './temporary-dir.ts'

export interface TestBucket {
  readonly settings: BucketSettings
  /** Lines of a configuration that has its large messages there. */
  readonly toml: string
  /** The same in two parts: the line above the first table, and the table. */
  readonly tomlParts: readonly [top: string, table: string]
  /** Where the server keeps what is in the bucket. */
  readonly directory: string
  /** Ends the server; what it holds stays. */
  stop(): Promise<void>
  /** Starts it again at the same port. */
  start(): Promise<void>
}

/** Starts a server of S3 with one empty bucket, "mail". It checks signatures. */
export async function startBucket(t: Test): Promise<TestBucket> {
  const dir = temporaryDir(t)
  const directory = join(dir, 'objects')
  mkdirSync(directory)
  const secretFile = join(dir, 'secret')
  writeFileSync(secretFile, 'S3RVER\n')
  const port = await freePort('127.0.0.1')
  // It brings a hundred modules, and every test that might have a bucket imports this one.
  const { default: Server } = await import('@20minutes/s3rver')
  let server: S3rver | undefined
  const start = async () => {
    server = new Server({
      address: '127.0.0.1',
      port,
      directory,
      silent: true,
      configureBuckets: [{ name: 'mail' }],
    })
    server.logger.silent = true
    await server.run()
    if ((server.httpServer.address() as AddressInfo).port !== port) throw new Error('another port')
  }
  const stop = async () => {
    server?.httpServer.closeAllConnections()
    await server?.close()
    server = undefined
  }
  await start()
  t.teardown(stop)
  const endpoint = `http://127.0.0.1:${port}`
  const tomlParts = [
    'blobs = "s3://mail/large"\n',
    `[s3]\nendpoint = "${endpoint}"\naccess_key_id = "S3RVER"\nsecret_access_key_file = "${secretFile}"\n`,
  ] as const
  return {
    settings: {
      endpoint,
      region: 'us-east-1',
      bucket: 'mail',
      encryption: undefined,
      timeoutMs: 10_000,
      credentials: async () => ({ accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }),
    },
    toml: tomlParts.join(''),
    tomlParts,
    directory: join(directory, 'mail'),
    start,
    stop,
  }
}
