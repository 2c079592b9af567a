import { readFile } from 'node:fs/promises'
import { replaceFile } from '../../base/durable-file.ts'
import type { Timeline } from '../../base/held-server.ts'

/** A server that takes writes, and that another has taken over from: what is written there is lost when it follows that one. */
export class OldPrimary extends Error {
  override readonly name = 'OldPrimary'

  /** @param path the file that the newer one is known from */
  constructor(theirs: Timeline, newest: Timeline, path: string) {
    super(
      `it is a primary of before a failover (timeline ${theirs.number}, and this node knows of ${newest.number}): have it follow the newer one (pg_rewind), or, where it was brought back to that state on purpose, stop mailboxd on all nodes, remove ${path} there, and start it again`,
    )
  }
}

/** Behind the name of a server is another than the one that what this process holds is held on. */
export class OtherServer extends Error {
  override readonly name = 'OtherServer'

  constructor() {
    super('another server answers there than the one that this node has its lock on')
  }
}

/** Asked of each connection that is opened: by which timeline its server writes, where that is said. Throws what keeps it from being used. */
export type Judge = (timeline: Timeline | undefined) => void

const isSame = (one: Timeline | undefined, other: Timeline | undefined) =>
  one?.system === other?.system && one?.number === other?.number

/** Lets those pass who write on the same timeline. */
export function judgeSame(held: Timeline | undefined): Judge {
  return timeline => {
    if (!isSame(held, timeline)) throw new OtherServer()
  }
}

/**
 * The newest timeline that the database of a node was found on. A server of another cluster is one that the operator moved to, and the newest from then on; of
 * what a server does not say nothing is known.
 */
export interface NewestTimeline {
  /** Throws OldPrimary for a server that another has taken over from. */
  readonly judge: Judge
  /** Also for after a restart. */
  remember(timeline: Timeline | undefined): Promise<void>
}

/**
 * @param path where it is kept; who removes the file has it forgotten at the next start
 * @param warn told in a sentence when it can not be kept there
 */
export async function keepNewestTimeline(
  path: string,
  warn: (sentence: string) => void,
): Promise<NewestTimeline> {
  let newest = await readTimeline(path)
  return {
    judge: timeline => requireNotOlder(timeline, newest, path),
    async remember(timeline) {
      if (timeline === undefined || isSame(timeline, newest)) return
      newest = timeline
      await replaceFile(path, `${timeline.system} ${timeline.number}\n`).catch(({ message }: Error) =>
        warn(
          `which server of the database is the newest can not be kept in ${path} (${message}): after a restart this node would take an older one for it`,
        ),
      )
    },
  }
}

/** The same for who only reads what a node has kept. */
export async function judgeByNewest(path: string): Promise<Judge> {
  const newest = await readTimeline(path)
  return timeline => requireNotOlder(timeline, newest, path)
}

function requireNotOlder(theirs: Timeline | undefined, newest: Timeline | undefined, path: string): void {
  if (theirs === undefined || newest === undefined || theirs.system !== newest.system) return
  if (theirs.number < newest.number) throw new OldPrimary(theirs, newest, path)
}

/** What is in the file; undefined where there is none, or something else in it. */
async function readTimeline(path: string): Promise<Timeline | undefined> {
  const text = await readFile(path, 'utf8').catch(error => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const [, system, number] = /^(\d{1,20}) (\d{1,10})\n$/.exec(text) ?? []
  return system === undefined ? undefined : { system, number: Number(number) }
}
