import { Reply } from '../base/reply.ts'
import type { Connection } from './connection.ts'
import { createDataLines } from './data-lines.ts'
import { createLineCheck } from './line-check.ts'
import { refusalOf } from './refusal.ts'

/** Bytes of an SMTP command line. */
export const smtpCommandBytes = 4096

type Parser = Exclude<Connection['_parser'], false>

const tooEarly = new Reply(554, '5.5.1', 'Wait for the greeting before you speak')
const pipelinedTooEarly = new Reply(554, '5.5.1', 'Wait for the answer to EHLO before you send more')
const lf = 0x0a
/** Lines after which others get the event loop. */
const linesAtOnce = 100

/**
 * Hands the library the commands of a connection line by line, and looks at each before that. The library takes a bare
 * LF for the end of a command, which is what SMTP smuggling lives on, and a NUL for a character like any other: such a
 * line is answered 500 and never done. Who speaks before the greeting, or sends more than one line before EHLO was
 * answered (RFC 2920 §3.1: nobody knows of PIPELINING before that), reads no answers; it is refused with 554, as RFC 5321
 * §3.1 has it, and the connection ends.
 */
export function watchCommandLines(connection: Connection): void {
  const create = connection._createParser
  // STARTTLS makes another one.
  connection._createParser = () => watched(connection, create.call(connection))
  if (connection._parser) watched(connection, connection._parser)
}

function watched(connection: Connection, parser: Parser): Parser {
  const write = parser._write
  const lines = lineWatch(connection, parser)
  takeDataLines(parser)
  parser._write = (chunk, encoding, done) => {
    let at = 0
    let count = 0
    let isUnderWay = false
    let isAskedAgain = false
    // The library says that a command is done at once, or later. Only a loop keeps many of the former off the stack.
    const next = (error?: Error | null): void => {
      isAskedAgain = true
      if (isUnderWay && !error) return
      isUnderWay = true
      while (isAskedAgain) {
        isAskedAgain = false
        if (error || parser.isClosed || at >= chunk.length) {
          done(error)
          return
        }
        // What is left is a message, or begins with the rest of one.
        if (parser._dataMode) {
          write.call(parser, chunk.subarray(at), encoding, done)
          return
        }
        if (++count > linesAtOnce) {
          count = 0
          isUnderWay = false
          setImmediate(next)
          return
        }
        const lineEnd = chunk.indexOf(lf, at)
        const end = lineEnd < 0 ? chunk.length : lineEnd + 1
        const piece = chunk.subarray(at, end)
        at = end
        const said = lines.see(piece, at < chunk.length)
        if (said === 'whole') write.call(parser, piece, encoding, next)
        else next(said === 'broken' ? null : said)
      }
      isUnderWay = false
    }
    next()
  }
  return parser
}

/** Looks at pieces of the command stream, each of one line at most. */
function lineWatch(connection: Connection, parser: Parser) {
  let check = createLineCheck()
  let lengthBytes = 0

  return {
    /** @param isMore whether more than this line has come already */
    see(piece: Buffer, isMore: boolean): 'whole' | 'broken' | Error {
      if (!connection._ready) return refused(tooEarly)
      if (!connection.hostNameAppearsAs && isMore) return refused(pipelinedTooEarly)
      const fault = check.see(piece)
      const isEnd = piece.at(-1) === lf
      lengthBytes += piece.length
      if (fault && lengthBytes > smtpCommandBytes) return new Error('Command line too long')
      if (isEnd) {
        check = createLineCheck()
        lengthBytes = 0
      }
      if (!fault) return 'whole'
      parser._remainder = ''
      if (isEnd) connection.send(500, `5.5.2 The command has a ${fault}; a line must end with CRLF`)
      return 'broken'
    },
  }

  function refused(reply: Reply): 'broken' {
    connection._refuse(refusalOf(reply), false)
    return 'broken'
  }
}

/**
 * Has the library's parser take messages so. It would hand over a chunk, and wait for a turn of the event loop, for
 * each line that begins with a dot: a minute for a message of nothing else.
 */
function takeDataLines(parser: Parser): void {
  const lines = createDataLines()
  parser._feedDataStream = (chunk, done) => {
    const stream = parser._dataStream!
    const { content, rest } = lines.take(chunk)
    parser._countDataBytes(content.length)
    if (rest) {
      parser._endDataMode(content, rest, done)
      return
    }
    if (content.length === 0 || !stream.writable || stream.write(content)) {
      done()
      return
    }
    // Destroyed, it never drains.
    const more = () => {
      stream.off('drain', more)
      stream.off('close', more)
      done()
    }
    stream.once('drain', more)
    stream.once('close', more)
  }
}
