import { connect } from 'node:net'
import type { Test } from 'tap'

/** Chance that is the same again for the same seed. */
export interface Chance {
  /** A whole number below `below`. */
  number(below: number): number
  of<T>(some: readonly T[]): T
}

export interface FuzzSettings {
  /** What is altered: what the other side would say. */
  readonly seeds: readonly (Buffer | string)[]
  /** What means something in this language, to be put in anywhere. */
  readonly words: readonly (Buffer | string)[]
  /** An altered input is not longer than this. */
  readonly most?: number
}

const seconds = Number(process.env.FUZZ_SECONDS ?? 8)
const seed = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31))
const shownBytes = 3000

/**
 * Tries altered inputs for FUZZ_SECONDS (8 unless told), by FUZZ_SEED. What `attempt` throws is a fault that was found: it is shown with
 * its input, which belongs into a test of its own then.
 */
export async function fuzz(
  t: Test,
  settings: FuzzSettings,
  attempt: (input: Buffer, chance: Chance) => unknown,
): Promise<void> {
  const end = Date.now() + seconds * 1000
  let count = 0
  while (Date.now() < end) {
    const chance = chanceOf(seed + count)
    const input = altered(settings, chance)
    count++
    try {
      await attempt(input, chance)
    } catch (error) {
      const shown = JSON.stringify(input.toString('latin1').slice(0, shownBytes))
      t.fail(`input ${count - 1} of seed ${seed}: ${error}`, {
        input: shown,
        thrown: String((error as Error).stack),
      })
      return
    }
  }
  t.ok(count > 0, `${count} inputs, seed ${seed}`)
}

/** By mulberry32. */
export function chanceOf(from: number): Chance {
  let state = from | 0
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  // The first of neighbouring seeds are alike.
  next()
  const number = (below: number) => Math.floor(next() * below)
  return { number, of: some => some[number(some.length)]! }
}

function altered({ seeds, words, most = 65_536 }: FuzzSettings, chance: Chance): Buffer {
  let bytes: Buffer = Buffer.from(chance.of(seeds))
  for (let left = 1 + chance.number(6); left > 0; left--)
    bytes = alterOnce(bytes, seeds, words, chance).subarray(0, most)
  return bytes
}

function alterOnce(
  bytes: Buffer,
  seeds: readonly (Buffer | string)[],
  words: readonly (Buffer | string)[],
  chance: Chance,
): Buffer {
  const at = chance.number(bytes.length + 1)
  const to = Math.min(bytes.length, at + 1 + chance.number(chance.of([2, 20, 200])))
  const [before, some, after] = [bytes.subarray(0, at), bytes.subarray(at, to), bytes.subarray(to)]
  switch (chance.number(9)) {
    case 0:
      return Buffer.concat([before, after])
    case 1:
      return Buffer.concat([before, Buffer.from(chance.of(words)), bytes.subarray(at)])
    case 2:
      return Buffer.concat([before, Buffer.from(chance.of(words)), after])
    case 3:
      return Buffer.concat([before, ...Array<Buffer>(1 + chance.number(50)).fill(some), after])
    case 4: {
      const other = Buffer.from(chance.of(seeds))
      return Buffer.concat([before, other.subarray(chance.number(other.length + 1))])
    }
    case 5:
      return Buffer.concat([before, Buffer.from([chance.number(256)]), after])
    case 6: {
      const copy = Buffer.from(bytes)
      if (at < copy.length) copy[at] = copy[at]! ^ (1 << chance.number(8))
      return copy
    }
    case 7:
      return before
    default: {
      const lines = bytes.toString('latin1').split('\n')
      const [one, other] = [chance.number(lines.length), chance.number(lines.length)]
      ;[lines[one], lines[other]] = [lines[other]!, lines[one]!]
      return Buffer.from(lines.join('\n'), 'latin1')
    }
  }
}

/** Writes these pieces, ends, and gives what was answered when the other side has closed the connection; nothing when it was cut. */
export function conversation(port: number, pieces: readonly Buffer[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.setTimeout(20_000, () => socket.destroy(new Error('the connection was left open')))
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', error => {
      const isCut = 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
      if (isCut) resolve('')
      else reject(error)
    })
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
    for (const piece of pieces) socket.write(piece)
    socket.end()
  })
}
