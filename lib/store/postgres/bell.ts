import type pg from 'pg'
import { randomBase36 } from '../../base/secrets.ts'
import { addNotices, type Notices, type Topic, topics } from '../dialect/notices.ts'
import { connectAlone } from './session.ts'

/** How long what is committed is gathered until the other processes are told; and when who can not hear them tries again. */
const bellRestMs = 25
const bellAgainMs = 1_000

/** Tells other processes on the same database what was committed in this one, and this one what they committed. */
export interface Bell {
  /** Has it told to them soon: once for all that is committed in `bellRestMs`. */
  ring(notices: Notices): void
  /** Hears them from now on, over a connection of its own, which is opened again whenever it ends. Gives the function that ends it. */
  hear(): () => Promise<void>
  /** Tells what is left to tell. */
  stop(): Promise<void>
}

const channel = 'mailboxd'

/** A payload must be below 8,000 bytes; what a notice is about is an id at the most. */
const aboutAtOnce = 100

interface Said {
  /** Which process says it: it knows already. */
  readonly by: string
  readonly topic: Topic
  readonly about: readonly string[]
}

/**
 * Nothing depends on it: who hears nothing finds by its next look what was committed (`streamPollMs`, `waitPollMs`,
 * `queuePollMs`).
 * @param say sends each of the payloads to everybody who listens on the channel
 * @param tell what others committed
 */
export function createBell(
  url: string,
  say: (channel: string, payloads: readonly string[]) => Promise<void>,
  tell: (notices: Notices) => void,
): Bell {
  const by = randomBase36(12)
  let pending: Notices = new Map()
  let ringing: Promise<void> | undefined
  let end = () => {}

  async function ringAll(): Promise<void> {
    while (pending.size > 0) {
      await new Promise<void>(resolve => {
        end = resolve
        setTimeout(resolve, bellRestMs)
      })
      const told = pending
      pending = new Map()
      // Who can't be told looks by itself.
      await say(channel, payloadsOf(by, told)).catch(() => {})
    }
    ringing = undefined
  }

  return {
    ring(notices) {
      addNotices(pending, notices)
      if (pending.size === 0) return
      ringing ??= ringAll()
    },
    hear: () => hearAgain(url, said => said.by !== by && tell(new Map([[said.topic, new Set(said.about)]]))),
    async stop() {
      end()
      await ringing
    },
  }
}

function payloadsOf(by: string, notices: Notices): string[] {
  const payloads: string[] = []
  for (const [topic, about] of notices) {
    const all = [...about]
    for (let at = 0; at < all.length; at += aboutAtOnce)
      payloads.push(JSON.stringify({ by, topic, about: all.slice(at, at + aboutAtOnce) } satisfies Said))
  }
  return payloads
}

function hearAgain(url: string, heard: (said: Said) => void): () => Promise<void> {
  let isStopped = false
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let connecting: Promise<void> = Promise.resolve()

  async function connect(): Promise<void> {
    let mine: pg.Client | undefined
    const again = () => {
      if (client !== mine || isStopped) return
      client = undefined
      timer = setTimeout(begin, bellAgainMs).unref()
    }
    try {
      mine = await connectAlone(url, 'mailboxd bell')
      client = mine
      mine.on('error', again)
      mine.on('end', again)
      mine.on('notification', ({ payload }) => {
        const said = readSaid(payload)
        if (said) heard(said)
      })
      await mine.query(`listen ${channel}`)
    } catch {
      again()
      await mine?.end().catch(() => {})
    }
  }
  const begin = () => {
    connecting = connect()
  }

  begin()
  return async () => {
    isStopped = true
    clearTimeout(timer)
    await connecting
    await client?.end().catch(() => {})
  }
}

/** What was said; undefined for what is no word of ours. */
function readSaid(payload = ''): Said | undefined {
  try {
    const said = JSON.parse(payload) as Said
    return topics.includes(said.topic) && Array.isArray(said.about) ? said : undefined
  } catch {
    return undefined
  }
}
