import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { AwsV4Signer } from 'aws4fetch'
import { type Dispatcher, Pool } from 'undici'
import { BlobsFault, BucketOut, tellSystemFault } from '../../base/faults.ts'
import { oneLine } from '../../base/text.ts'

import { type ObjectPage, readObjectPage, readS3Fault } from './answers.ts'

/**
 * The bucket of large messages: connections to it; how long one takes; attempts of a request, and the pause after the first
 * (four times as long after each); what an answer that is no message may have; objects of one page of a list; how long the
 * removal of an object is waited for, and how long none is tried after one that failed (the sweep does those).
 */
const bucketConnections = 20
const bucketConnectMs = 5000
const bucketAttempts = 3
const bucketPauseMs = 100
const bucketAnswerBytes = 4 * 1024 * 1024
/** Objects of one page of a list. */
const bucketPage = 1000
/** How long the removal of an object is waited for; the sweep removes what is left. */
const bucketDeleteMs = 5000

export interface BucketSettings {
  /** `https://s3.example.com`, without a slash at the end. The bucket is the first part of the path there. */
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  /** Asked at each request: it may have changed. */
  readonly credentials: () => Promise<{ readonly accessKeyId: string; readonly secretAccessKey: string }>
  /** What the server is asked to encrypt with, if with anything. */
  readonly encryption: 'AES256' | 'aws:kms' | undefined
  /** How long one request may take. */
  readonly timeoutMs: number
}

/** The length of some bytes, and their SHA-256 in hexadecimal. */
export interface ByteSum {
  readonly sizeBytes: number
  readonly sha256: string
}

/** A bucket of S3, or of what speaks it. Each request is made again a few times where that may help. */
export interface Bucket {
  /** Resolves when the server has it. @param sum of the file, which the server compares with what arrives @throws BucketOut */
  put(key: string, file: string, sum: ByteSum): Promise<void>
  /** Writes it into a new file; undefined if there is none. @throws BucketOut; BlobsFault if there are more than `mostBytes` */
  get(key: string, file: string, mostBytes: number): Promise<ByteSum | undefined>
  /** Its bytes; undefined when there is none. @throws BucketOut; BlobsFault when it does not say how many */
  sizeOf(key: string): Promise<number | undefined>
  /** It need not be there. @throws BucketOut */
  delete(key: string): Promise<void>
  /** Some of what begins so, in the order of the keys, and where to go on. @throws BucketOut */
  list(prefix: string, after: string | undefined): Promise<ObjectPage>
  close(): Promise<void>
}

interface Asked {
  readonly method: 'PUT' | 'GET' | 'HEAD' | 'DELETE'
  readonly key: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly file?: string
  /** How often it is made at the most, and how long each may take; else as often and as long as the settings say. */
  readonly attempts?: number
  readonly timeoutMs?: number
}

/** The hash of nothing, which is what most requests have as their body. */
const nothingHash = createHash('sha256').digest('hex')

/** @param told is called with each request that came to its end, and with why it did not do what it was to do */
export function openS3(
  settings: BucketSettings,
  told: (method: string, why?: BlobsFault) => void = () => {},
): Bucket {
  const { endpoint, region, bucket, credentials, encryption, timeoutMs } = settings
  const { origin, pathname } = new URL(endpoint)
  const root = `${pathname.replace(/\/$/, '')}/${bucket}`
  const pool = new Pool(origin, {
    connections: bucketConnections,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: bucketConnectMs },
  })

  async function signed({ method, key, query = {}, headers = {} }: Asked): Promise<[string, Headers]> {
    const url = new URL(`${origin}${root}${key === '' ? '' : `/${key}`}`)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const signing = await credentials().catch(cause => {
      throw new Unreadable(cause)
    })
    const signer = new AwsV4Signer({
      ...signing,
      url: url.href,
      method,
      headers: { 'x-amz-content-sha256': nothingHash, ...headers },
      service: 's3',
      region,
    })
    const { url: to, headers: given } = await signer.sign()
    return [to.pathname + to.search, given]
  }

  /** @throws what the network threw; BlobsFault for an answer that does not say yes */
  async function once(asked: Asked, waitMs: number): Promise<Dispatcher.ResponseData> {
    const [path, headers] = await signed(asked)
    const answer = await pool.request({
      method: asked.method,
      path,
      headers: Object.fromEntries(headers),
      body: asked.file === undefined ? null : createReadStream(asked.file, { highWaterMark: 256 * 1024 }),
      headersTimeout: waitMs,
      bodyTimeout: waitMs,
      signal: AbortSignal.timeout(waitMs),
    })
    const { statusCode, body } = answer
    if (statusCode < 300 || statusCode === 404) return answer
    const why = readS3Fault(await startOf(body))
    throw new Refused(statusCode, `the bucket ${bucket} answered ${statusCode}${why && `: ${why}`}`)
  }

  /**
   * What stands before the bucket answers 404 too, and it does not know the object: only the bucket's own word says that an
   * object is not there. @throws Refused
   */
  function requireNoSuchKey(why: string): void {
    if (why.startsWith('NoSuchKey')) return
    const none = `there is no bucket ${bucket} at ${origin}`
    throw new Refused(
      404,
      why.startsWith('NoSuchBucket') ? none : `the bucket ${bucket} answered 404${why && `: ${why}`}`,
    )
  }

  /** Asks, and asks again after what may be over soon; the answer is read by `take` before the time is over. */
  async function ask<T>(asked: Asked, take: (answer: Dispatcher.ResponseData) => Promise<T>): Promise<T> {
    const attempts = asked.attempts ?? bucketAttempts
    for (let attempt = 1; ; attempt++) {
      try {
        const taken = await take(await once(asked, asked.timeoutMs ?? timeoutMs))
        told(asked.method)
        return taken
      } catch (error) {
        if (attempt < attempts && mayHelp(error)) {
          await pause(bucketPauseMs * 4 ** (attempt - 1))
          continue
        }
        const fault = faultOf(error)
        told(asked.method, fault)
        throw fault
      }
    }
  }

  function faultOf(error: unknown): BlobsFault {
    if (error instanceof Refused || error instanceof Unreadable)
      return new BucketOut(error.message, { cause: error })
    if (error instanceof Unlike)
      return new BlobsFault(`the bucket ${bucket} at ${origin}: ${error.message}`, { cause: error })
    const why = error instanceof Error ? error.message : String(error)
    return new BucketOut(oneLine(`the bucket ${bucket} at ${origin} can not be asked: ${why}`), {
      cause: error,
    })
  }

  return {
    async put(key, file, { sizeBytes, sha256 }) {
      const headers = {
        // The server compares: what arrives damaged is refused.
        'x-amz-content-sha256': sha256,
        'content-length': String(sizeBytes),
        'content-type': 'message/rfc822',
        ...(encryption && { 'x-amz-server-side-encryption': encryption }),
      }
      await ask({ method: 'PUT', key, headers, file }, async answer => {
        if ((await drained(answer)) === 404)
          throw new Refused(404, `there is no bucket ${bucket} at ${origin}`)
      })
    },
    get: (key, file, mostBytes) =>
      ask({ method: 'GET', key }, async ({ statusCode, headers, body }) => {
        if (statusCode === 404) {
          requireNoSuchKey(readS3Fault(await startOf(body)))
          return undefined
        }
        let came = 0
        const hash = createHash('sha256')
        await pipeline(
          body,
          async function* counted(chunks: AsyncIterable<Buffer>) {
            for await (const chunk of chunks) {
              came += chunk.length
              // It could go on until the disk is full.
              if (came > mostBytes) throw new Unlike(`it gives more than the ${mostBytes} bytes of ${key}`)
              hash.update(chunk)
              yield chunk
            }
          },
          // Of an attempt before this one there may be some.
          createWriteStream(file, { flags: 'w', mode: 0o600 }),
        )
        if (came !== Number(headers['content-length'] ?? came)) throw new Error('the answer was cut off')
        return { sizeBytes: came, sha256: hash.digest('hex') }
      }),
    async sizeOf(key) {
      const sizeBytes = await ask({ method: 'HEAD', key }, async ({ statusCode, headers, body }) => {
        await body.dump()
        if (statusCode === 404) return undefined
        const length = Number(headers['content-length'] ?? Number.NaN)
        if (!Number.isSafeInteger(length)) throw new Unlike('the answer does not say how large it is')
        return length
      })
      // The answer to HEAD has no body that could say who says so.
      if (sizeBytes === undefined) {
        const headers = { range: 'bytes=0-0' }
        await ask({ method: 'GET', key, headers }, async ({ statusCode, body }) => {
          const why = readS3Fault(await startOf(body))
          if (statusCode === 404) requireNoSuchKey(why)
          else throw new Unlike('it is there and it is not there')
        })
      }
      return sizeBytes
    },
    async delete(key) {
      // The sweep does what was not done: who deletes a message does not wait for a bucket that says nothing.
      const short = { attempts: 1, timeoutMs: Math.min(timeoutMs, bucketDeleteMs) }
      await ask({ method: 'DELETE', key, ...short }, drained)
    },
    list: (prefix, after) =>
      ask(
        {
          method: 'GET',
          key: '',
          query: {
            'list-type': '2',
            prefix,
            'max-keys': String(bucketPage),
            ...(after !== undefined && { 'continuation-token': after }),
          },
        },
        async ({ statusCode, headers, body }) => {
          if (statusCode === 404) throw new Refused(404, `there is no bucket ${bucket} at ${origin}`)
          return readObjectPage(await textOf(body), headers.date)
        },
      ),
    close: () => pool.destroy(),
  }
}

/** The server has understood, and says no. */
class Refused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** The bucket answers, and says of one object what can not be. */
class Unlike extends Error {}

/** The secret can not be read, and the bucket was not asked. */
class Unreadable extends Error {
  constructor(cause: unknown) {
    const why = tellSystemFault(cause) ?? (cause instanceof Error ? cause.message : String(cause))
    super(`the secret of the bucket's key can not be read (s3.secret_access_key_file): ${oneLine(why)}`, {
      cause,
    })
  }
}

function mayHelp(error: unknown): boolean {
  if (error instanceof Unreadable) return false
  return !(error instanceof Refused) || error.status >= 500 || error.status === 429
}

async function drained({ statusCode, body }: Dispatcher.ResponseData): Promise<number> {
  await body.dump({ limit: bucketAnswerBytes })
  return statusCode
}

/** @throws Error when it is longer than an answer of ours to read may be */
async function textOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = []
  let sizeBytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length
    if (sizeBytes > bucketAnswerBytes) throw new Error('the answer is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** What an answer says that is no yes; nothing when even that can not be read. */
async function startOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  return textOf(body).catch(() => '')
}
