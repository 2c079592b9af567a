import { normaliseDomain } from '../mail/address/address.ts'
import { watchCommandLines } from './command-lines.ts'
import type { Connection } from './connection.ts'
import { boundSession } from './session-bounds.ts'

/** What is said of the library's refusals that concern authentication, by their codes (RFC 4954 §6). */
const authenticationWords: Readonly<Record<number, string>> = {
  504: '5.5.4 That mechanism is not offered; use PLAIN or LOGIN',
  530: '5.7.0 Authenticate first: STARTTLS where there is no TLS yet, then AUTH with an inbox address and an API key',
  538: '5.7.11 Encrypt first: send STARTTLS, then AUTH',
}

/** Is told the code of a reply, and its enhanced code where the text is ours. */
type Refused = (code: number, enhanced: string) => void

const ownCode = /^[245]\.\d{1,3}\.\d{1,3} /

/**
 * The set in which smtp-server keeps its open connections. What joins it is given the habits that the library has no
 * option for, and can be found by its id.
 */
export class Connections extends Set<Connection> {
  readonly #byId = new Map<string, Connection>()
  readonly #greetingDelayMs: (connection: Connection) => number
  readonly #maxMessages: number
  readonly #refused: Refused

  /**
   * @param greetingDelayMs how long a connection waits to be greeted
   * @param maxMessages of one connection
   * @param refused called with each reply of 400 and above
   */
  constructor(
    greetingDelayMs: (connection: Connection) => number,
    maxMessages: number,
    refused: Refused = () => {},
  ) {
    super()
    this.#greetingDelayMs = greetingDelayMs
    this.#maxMessages = maxMessages
    this.#refused = refused
  }

  override add(connection: Connection): this {
    this.#byId.set(connection.id, connection)
    keepEnhancedCodes(connection, this.#refused)
    keepALabels(connection)
    readQuotedPaths(connection)
    refuseExpn(connection)
    offerAuthenticationInTls(connection)
    boundSession(connection, this.#maxMessages)
    watchCommandLines(connection)
    greet(connection, this.#greetingDelayMs(connection))
    return super.add(connection)
  }

  override delete(connection: Connection): boolean {
    this.#byId.delete(connection.id)
    return super.delete(connection)
  }

  find(id: string): Connection | undefined {
    return this.#byId.get(id)
  }
}

/**
 * The library chooses an enhanced code by the three digits alone (550 is always 5.1.1). A text of ours begins with the
 * code that is meant; for such a text it is told to add none. And when it refuses a command that it does not know, it
 * looks the command up among its own names of codes: "MAILBOX_FULL" would be answered 500 4.2.2.
 */
function keepEnhancedCodes(connection: Connection, refused: Refused): void {
  const { send } = connection
  const contextOf = (code: number, data: unknown, context: string | false | undefined) => {
    if (typeof data === 'string' && ownCode.test(data)) return false
    return context !== false && (code === 500 || code === 421) ? undefined : context
  }
  connection.send = (code, given, context) => {
    const data = authenticationWords[code] ?? given
    if (code >= 400) refused(code, typeof data === 'string' ? (ownCode.exec(data)?.[0].trimEnd() ?? '') : '')
    return send.call(connection, code, data, contextOf(code, data, context))
  }
}

/**
 * The library turns the domain of every address into U-labels, so that one in A-labels, which any peer may send, could
 * not be told from one that needs SMTPUTF8 (RFC 6531 §3.3). An ASCII command keeps an ASCII address.
 */
function keepALabels(connection: Connection): void {
  const { _parseAddressCommand: parse } = connection
  connection._parseAddressCommand = (name, command) => {
    const parsed = parse.call(connection, name, command)
    if (!parsed || /[^\x00-\x7f]/.test(command.toString('latin1'))) return parsed
    const at = parsed.address.lastIndexOf('@')
    const domain = parsed.address.slice(at + 1)
    if (!/[^\x00-\x7f]/.test(domain)) return parsed
    const inALabels = normaliseDomain(domain)
    return inALabels === undefined
      ? false
      : { ...parsed, address: parsed.address.slice(0, at + 1) + inALabels }
  }
}

/** The library refuses AUTH in the clear, and names it in its answer to EHLO all the same: a client would say its password. */
function offerAuthenticationInTls(connection: Connection): void {
  const { send } = connection
  connection.send = (code, data, context) => {
    const said = connection.secure || !Array.isArray(data) ? data : data.filter(line => !/^AUTH /.test(line))
    return send.call(connection, code, said, context)
  }
}

const quotedPath = /^((?:MAIL FROM|RCPT TO):\s*<)("(?:[^"\\\x00-\x1f]|\\[\x20-\x7e])*")(@[^\s<>"@]+>.*)$/is

/**
 * The library takes a path for what has no space and one @. A local part in quotes may have both (RFC 5321 §4.1.2); it is
 * kept apart while the rest is read.
 */
function readQuotedPaths(connection: Connection): void {
  const { _parseAddressCommand: parse } = connection
  connection._parseAddressCommand = (name, command) => {
    const [, before, quoted, rest] = quotedPath.exec(command.toString()) ?? []
    if (quoted === undefined) return parse.call(connection, name, command)
    const parsed = parse.call(connection, name, Buffer.from(`${before}quoted${rest}`))
    return parsed && { ...parsed, address: quoted + parsed.address.slice('quoted'.length) }
  }
}

/** RFC 5321 §3.5.3: a command that is known and not offered is 502; the library knows no EXPN and says 500. */
function refuseExpn(connection: Connection): void {
  Object.assign(connection, {
    handler_EXPN(_command: Buffer, callback: () => void) {
      connection.send(502, '5.5.1 Lists are not told here')
      callback()
    },
  })
}

/**
 * The library waits 100 ms before every greeting, which alone holds 20 clients that make a new connection for each
 * message to 200 messages a second (measured: 196, where Postfix takes 700). How long is waited is a setting instead.
 */
function greet(connection: Connection, delayMs: number): void {
  const ready = () => connection.connectionReady()
  connection.init = () => {
    connection._setListeners(() => {
      if (delayMs > 0) setTimeout(ready, delayMs).unref()
      // What has come by now was said too early; it is read between the two.
      else setImmediate(() => setImmediate(ready))
    })
  }
}
