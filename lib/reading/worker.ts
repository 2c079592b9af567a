import { setImmediate } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { heartbeatMs, places } from '../base/threads.ts'
import { systemClock } from '../base/time.ts'
import { createDns } from '../courier/dns.ts'
import { createAuthenticator } from '../mail/authentication/authenticator.ts'
import { type CharsetGuess, loadCharsetGuess } from '../mail/header/charset-guess.ts'
import type { Answer, Job, ThreadData } from './job.ts'
import { createKeptMemory } from './kept-memory.ts'
import { authenticate, type Read, readHeaderAlone, readMail, readWhatCanBe } from './read-mail.ts'

/**
 * A reading thread: reads the messages that it is given one after the other, while those that were read wait for DNS.
 * Whatever a message does to it (memory, time, a fault of a parser) can end it, and nothing else: lib/reading/pool.ts
 * watches from outside.
 */
const { hostname, dns, trustedSealers, places: shared } = workerData as ThreadData
const port = parentPort!
const place = new Int32Array(shared)
const memory = createKeptMemory()
const authenticator = createAuthenticator({
  dns: createDns(dns),
  clock: systemClock,
  mta: hostname,
  trustedSealers,
})

let last: Promise<unknown> = Promise.resolve()
let underWay = 0
let beating: NodeJS.Timeout | undefined
let answers: Answer[] = []

port.on('message', (jobs: readonly Job[]) => {
  begin(jobs.length)
  for (const job of jobs) {
    const read = last.then(() => readInTurn(job))
    last = read.catch(() => {})
    read.then(finish).then(answer, error => answer({ number: job.number, error }))
  }
})

/** Loaded by the first message whose charset must be guessed. */
let guess: CharsetGuess | undefined

interface InTurn {
  readonly job: Job
  readonly bytes: Buffer
  readonly read: Read
}

async function readInTurn(job: Job): Promise<InTurn> {
  // The event loop comes round between messages, which is what is seen from outside: of many small ones none is late.
  await setImmediate()
  // Before it is read: that the disk is slow is not its fault.
  const bytes = await memory.read(job.request.content)
  Atomics.store(place, places.current, job.number)
  try {
    const { request, headerAlone } = job
    if (headerAlone !== undefined) return { job, bytes, read: readHeaderAlone(bytes, request, headerAlone) }
    const read = readWhatCanBe(bytes, request, guess)
    if (!read.lacksGuess) return { job, bytes, read }
    guess = await loadCharsetGuess()
    return { job, bytes, read: readWhatCanBe(bytes, request, guess) }
  } finally {
    Atomics.store(place, places.current, 0)
  }
}

async function finish({ job, bytes, read }: InTurn): Promise<Answer> {
  const authentication = await authenticate(bytes, read, job.request, authenticator)
  memory.release(bytes)
  const { lacksGuess, ...reading } = read
  return { number: job.number, reading: { ...reading, authentication } }
}

/** What is ready in one turn of the event loop goes back together: to wake the other thread costs more than to read. */
function answer(one: Answer): void {
  if (answers.length === 0) void setImmediate().then(flush)
  answers.push(one)
}

function flush(): void {
  begin(-answers.length)
  port.postMessage(answers)
  answers = []
}

function begin(more: number): void {
  underWay += more
  if (underWay > 0) beating ??= setInterval(() => Atomics.add(place, places.heartbeat, 1), heartbeatMs)
  else {
    clearInterval(beating)
    beating = undefined
  }
}

// Its libraries are loaded before the first message needs them.
readMail(Buffer.from('From: a@example.com\r\n\r\nHello\r\n'), {
  content: { kind: 'memory', bytes: Buffer.alloc(0) },
  mailFrom: '',
  peer: null,
  mayReport: false,
  deliveredTo: [],
})
port.postMessage([])
