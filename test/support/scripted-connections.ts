import type { WriteDb } from '../../lib/store/dialect/dialect.ts'
import type { Answer, Connection } from '../../lib/store/transactions/connection.ts'

export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
  readonly name: string | undefined
  /** What had been sent over that connection behind it, before it was answered. */
  readonly behind: readonly string[]
  /** How many connections were taken before the one that it came over. */
  readonly connection: number
}

/** Gives the rows of an answer, at once or later, and throws what a server would say instead. */
type Script = (statement: Statement) => Rows | Promise<Rows>
type Rows = Answer['rows'] | undefined

/** An error of a server. */
export const serverError = (code: string) => Object.assign(new Error(`scripted: ${code}`), { code })

/** What a server says to who would wait for too long for a lock. */
export const lockKept = () => serverError('55P03')

/**
 * Connections to a server that is not there: a test says what it answers. Each answers one statement after the other, and knows of a transaction what a
 * server knows of it: after a failure it takes nothing but its end, and its commit undoes it.
 */
export function scriptConnections(script: Script = () => undefined) {
  const said: string[] = []
  const broken: string[] = []
  let taken = 0
  let inUse = 0
  let mostInUse = 0

  function connect(): Connection {
    const connection = taken++
    let standing: 'outside' | 'open' | 'failed' = 'outside'
    let before: Promise<unknown> = Promise.resolve()
    let isReleased = false
    const sent: string[] = []
    mostInUse = Math.max(mostInUse, ++inUse)

    async function answer(statement: Statement): Promise<Answer> {
      const { text } = statement
      const isEnd = text === 'commit' || text.startsWith('rollback')
      if (standing === 'failed' && !isEnd) throw serverError('25P02')
      said.push(text)
      const rows = await Promise.resolve(script(statement)).catch(error => {
        if (standing === 'open') standing = 'failed'
        throw error
      })
      const command = text === 'commit' && standing === 'open' ? 'COMMIT' : 'ROLLBACK'
      if (text.startsWith('begin') || text === 'rollback to one') standing = 'open'
      else if (isEnd) standing = 'outside'
      return { command, rowCount: 0, rows: rows ?? [] }
    }

    const handle = () => ({}) as WriteDb
    const own = [handle()]
    return {
      db: own[0]!,
      handles(count) {
        while (own.length < count) own.push(handle())
        return own
      },
      send(text, values = [], name) {
        if (isReleased) broken.push(`${text} over a connection that was released`)
        const place = sent.push(text)
        const answered = before.then(() =>
          answer({ text, values, name, connection, behind: sent.slice(place) }),
        )
        before = answered.catch(() => {})
        return answered
      },
      release() {
        if (standing !== 'outside') broken.push('released in a transaction')
        if (isReleased) broken.push('released twice')
        isReleased = true
        inUse--
      },
    }
  }

  return {
    take: async () => connect(),
    /** All that came to it, without what it refused after a failure. */
    said,
    /** What nobody may do with a connection, and was done. */
    broken,
    inUse: () => inUse,
    mostInUse: () => mostInUse,
    /** How many were taken. */
    connections: () => taken,
  }
}
