import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'

/**
 * What the peer does at one step: says lines, or bytes as they stand, then goes on, closes, falls silent, says a byte after the other and
 * no line, or begins TLS.
 */
export type Step =
  | string
  | { say?: string; bytes?: string | Uint8Array; next?: 'close' | 'reset' | 'silence' | 'drip' | 'tls' }
  | ((session: Session) => Step)

export interface Session {
  /** 1 for the first connection of this peer. */
  readonly number: number
  /** How many messages this session has taken. */
  messages: number
  isSecure: boolean
}

/** A badly behaved SMTP server, by step; what is not given goes well. Lines without their CRLF. */
export interface Script {
  greeting?: Step
  EHLO?: Step
  HELO?: Step
  STARTTLS?: Step
  /** At the first bytes after 220 to STARTTLS. */
  handshake?: Step
  MAIL?: Step
  RCPT?: Step
  DATA?: Step
  RSET?: Step
  AUTH?: Step
  QUIT?: Step
  /** After the final dot. */
  message?: Step
  /** At the first bytes of the message, before its end. */
  duringMessage?: Step
  /** For TLS after STARTTLS. */
  secureContext?: SecureContext
}

export interface ScriptedPeer {
  readonly commands: readonly string[]
  readonly messages: readonly string[]
  readonly connections: number
  /** Connections that stand now. */
  readonly open: number
  /** The most connections at one time, as far as they had not said QUIT. */
  readonly most: number
  /** Where the last connection came from. */
  readonly lastFrom: string | undefined
  /** How many bytes the connections that stand were told. */
  readonly bytesSaid: number
  /** Until no connection stands. */
  ended(): Promise<void>
  close(): Promise<void>
}

const wellBehaved: Readonly<Record<string, string>> = {
  greeting: '220 peer.test ESMTP',
  EHLO: '250-peer.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250-SIZE 0\r\n250 ENHANCEDSTATUSCODES',
  HELO: '250 peer.test',
  MAIL: '250 2.1.0 ok',
  RCPT: '250 2.1.5 ok',
  DATA: '354 go on',
  RSET: '250 2.0.0 ok',
  NOOP: '250 2.0.0 ok',
  QUIT: '221 2.0.0 bye',
  message: '250 2.0.0 taken',
}

/** A raw TCP server on `address:port` that follows `script`, or what it gives, for every connection. */
export async function startPeer(
  address: string,
  port: number,
  script: Script | (() => Script) = {},
): Promise<ScriptedPeer> {
  const commands: string[] = []
  const messages: string[] = []
  const sockets = new Set<Socket>()
  const waiting: (() => void)[] = []
  let connections = 0
  let lastFrom: string | undefined
  let most = 0
  let open = 0

  const server = createServer(socket => {
    const { secureContext, ...given } = typeof script === 'function' ? script() : script
    const steps: Readonly<Record<string, Step | undefined>> = given
    const session: Session = { number: ++connections, messages: 0, isSecure: false }
    let wire: Socket = socket
    lastFrom = socket.remoteAddress
    sockets.add(socket)
    most = Math.max(most, ++open)
    const leave = () => {
      if (!hasLeft) open--
      hasLeft = true
    }
    socket.on('close', leave)
    socket.on('close', () => {
      sockets.delete(socket)
      if (sockets.size === 0) for (const tell of waiting.splice(0)) tell()
    })
    socket.on('error', () => socket.destroy())
    socket.setNoDelay(true)
    let input = ''
    let isData = false
    let isSilent = false
    let hasLeft = false
    let isHandshake = false
    let isRefused = false
    let lastSaid = ''

    function act(name: string): void {
      let step = steps[name] ?? wellBehaved[name] ?? '502 5.5.1 no such command'
      if (name === 'DATA' && isRefused) step = steps.DATA ?? '503 5.5.1 nobody to send to'
      while (typeof step === 'function') step = step(session)
      const say = typeof step === 'string' ? step : step.say
      lastSaid = say ?? ''
      if (name === 'MAIL') isRefused = false
      if (name === 'MAIL' || name === 'RCPT') isRefused ||= say?.startsWith('2') !== true
      if (say !== undefined) wire.write(`${say}\r\n`)
      if (typeof step === 'string') return
      if (step.bytes !== undefined) wire.write(step.bytes)
      if (step.next === 'tls') {
        encrypt()
        return
      }
      isSilent = step.next !== undefined
      if (step.next === 'close') wire.end()
      if (step.next === 'drip') {
        const dripping = setInterval(() => wire.write('2'), 50)
        socket.on('close', () => clearInterval(dripping))
      }
      if (step.next === 'reset') socket.resetAndDestroy()
    }

    /** What was said before is forgotten (RFC 3207 §4.2). */
    function encrypt(): void {
      input = ''
      socket.removeListener('data', hear)
      wire = new TLSSocket(socket, { isServer: true, ...(secureContext && { secureContext }) })
      session.isSecure = true
      wire.on('error', () => socket.destroy())
      wire.on('data', hear)
    }

    function takeData(): boolean {
      if (input === '') return false
      if (steps.duringMessage !== undefined) {
        isData = false
        act('duringMessage')
        return false
      }
      const end = `\r\n${input}`.indexOf('\r\n.\r\n')
      if (end < 0) return false
      messages.push(input.slice(0, end))
      input = input.slice(end + 3)
      isData = false
      session.messages++
      act('message')
      return true
    }

    function takeCommand(): boolean {
      const end = input.indexOf('\r\n')
      if (end < 0) return false
      const line = input.slice(0, end)
      input = input.slice(end + 2)
      commands.push(line)
      const verb = line.split(' ')[0]?.toUpperCase() ?? ''
      act(verb)
      isData = verb === 'DATA' && !isSilent && lastSaid.startsWith('354')
      isHandshake = verb === 'STARTTLS' && steps.handshake !== undefined
      if (verb === 'QUIT') leave()
      if (verb === 'QUIT' && !isSilent) wire.end()
      return true
    }

    function hear(chunk: Buffer): void {
      if (isSilent) return
      if (isHandshake) {
        isHandshake = false
        act('handshake')
        return
      }
      input += chunk.toString('latin1')
      while (!isSilent && (isData ? takeData() : takeCommand()));
    }
    socket.on('data', hear)
    act('greeting')
  })
  server.listen(port, address)
  await once(server, 'listening')
  return {
    commands,
    messages,
    get connections() {
      return connections
    },
    get open() {
      return sockets.size
    },
    get most() {
      return most
    },
    get lastFrom() {
      return lastFrom
    },
    get bytesSaid() {
      return [...sockets].reduce((sum, { bytesWritten }) => sum + bytesWritten, 0)
    },
    ended: () => (sockets.size === 0 ? Promise.resolve() : new Promise(resolve => waiting.push(resolve))),
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
