import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** One reply of a server, with all its lines. */
export interface SmtpReply {
  readonly code: number
  /** The lines as they came, without their line ends. */
  readonly lines: readonly string[]
  /** The lines with a space between them, code and all. */
  readonly text: string
}

/** An SMTP session by hand: what goes over the wire is what the test says, byte for byte. */
export interface SmtpDialog {
  /** The end of the connection on this side, as "address:port". */
  readonly localEnd: string
  /** How many bytes were written so far; in the clear. */
  writtenBytes(): number
  /** Writes these bytes (text as UTF-8) and waits for nothing. */
  write(bytes: string | Buffer): void
  /** The next reply that has not been asked for yet. Rejects when the connection ends before it, or after 10 s. */
  reply(): Promise<SmtpReply>
  /** Writes a command line and gives its reply. */
  say(line: string): Promise<SmtpReply>
  /** MAIL, RCPT for each, DATA; throws when one is refused. */
  envelope(mailFrom: string, ...rcptTo: readonly string[]): Promise<void>
  /** Writes the content (dots are the caller's), ends it and gives the reply. */
  data(content: string | Buffer): Promise<SmtpReply>
  /** Says STARTTLS and makes the handshake; EHLO is the caller's. `extra` is sent in the packet of STARTTLS. */
  startTls(extra?: string): Promise<{ fingerprint: string; issuer: string }>
  /** Resolves when the connection is over; with what came and was not asked for. */
  closed(): Promise<string>
  /** Cuts the connection off, without QUIT or FIN where the system can. */
  vanish(): void
  /** Says no more, but listens on. */
  end(): void
}

const timeoutMs = 10_000

/** Opens a session. The greeting is the first reply. */
export async function openDialog(port: number, localAddress = '127.0.0.1'): Promise<SmtpDialog> {
  const plain = connectTcp({ host: '127.0.0.1', port, localAddress, noDelay: true })
  await once(plain, 'connect')
  return dialogOver(plain)
}

/** Opens a session and says EHLO. */
export async function greetedDialog(port: number, localAddress?: string): Promise<SmtpDialog> {
  const dialog = await openDialog(port, localAddress)
  await dialog.reply()
  await dialog.say('EHLO client.example')
  return dialog
}

function dialogOver(plain: Socket): SmtpDialog {
  let socket = plain
  let rest = ''
  let lines: string[] = []
  const replies: SmtpReply[] = []
  const waiting: ((reply: SmtpReply | undefined) => void)[] = []
  let isOver = false

  function take(text: string): void {
    const parts = (rest + text).split('\r\n')
    rest = parts.pop()!
    for (const line of parts) {
      lines.push(line)
      if (line[3] === '-') continue
      const reply = { code: Number(line.slice(0, 3)), lines, text: lines.join(' ') }
      lines = []
      const next = waiting.shift()
      if (next) next(reply)
      else replies.push(reply)
    }
  }
  const over = () => {
    isOver = true
    for (const next of waiting.splice(0)) next(undefined)
  }
  function listen(): void {
    socket.setEncoding('utf8').on('data', take)
    socket.on('close', over)
    socket.on('error', over)
  }
  listen()

  function reply(): Promise<SmtpReply> {
    const known = replies.shift()
    if (known) return Promise.resolve(known)
    if (isOver) return Promise.reject(new Error('the connection is over'))
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no reply within ${timeoutMs} ms`)), timeoutMs)
      waiting.push(one => {
        clearTimeout(timer)
        if (one) resolve(one)
        else reject(new Error('the connection ended instead of a reply'))
      })
    })
  }
  const dialog: SmtpDialog = {
    localEnd: `${plain.localAddress}:${plain.localPort}`,
    writtenBytes: () => plain.bytesWritten,
    write: bytes => void socket.write(bytes),
    reply,
    say(line) {
      socket.write(`${line}\r\n`)
      return reply()
    },
    async envelope(mailFrom, ...rcptTo) {
      const steps = [`MAIL FROM:<${mailFrom}>`, ...rcptTo.map(path => `RCPT TO:<${path}>`), 'DATA']
      for (const step of steps) {
        const said = await dialog.say(step)
        if (said.code >= 400) throw new Error(`${step} was answered ${said.text}`)
      }
    },
    data(content) {
      socket.write(content)
      socket.write('\r\n.\r\n')
      return reply()
    },
    async startTls(extra = '') {
      socket.write(`STARTTLS\r\n${extra}`)
      const said = await reply()
      if (said.code !== 220) throw new Error(`STARTTLS was answered ${said.text}`)
      plain.removeAllListeners('data')
      const secure = connectTls({ socket: plain, rejectUnauthorized: false, servername: 'mail.ours.example' })
      await once(secure, 'secureConnect')
      socket = secure
      listen()
      const shown = secure.getPeerX509Certificate()
      return { fingerprint: shown?.fingerprint256 ?? '', issuer: shown?.issuer ?? '' }
    },
    async closed() {
      if (!isOver) {
        const timer = setTimeout(() => socket.destroy(new Error('not closed in time')), timeoutMs)
        const [hadError] = await once(socket, 'close')
        clearTimeout(timer)
        if (hadError) throw new Error('the connection broke')
      }
      return [...replies.splice(0).map(one => one.text), rest].join('\n').trim()
    },
    vanish: () => plain.resetAndDestroy(),
    end: () => void socket.end(),
  }
  return dialog
}
