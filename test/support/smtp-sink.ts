import { spawn } from 'node:child_process'
import { kill } from './contained.ts'
import { getPeer } from './peers.ts'
import { greeting } from './ports.ts'
import { until } from './until.ts'

export interface SmtpSink {
  readonly address: string
  readonly port: number
  /** How many messages it has taken. */
  count(): number
  /** Waits until it has taken `count` messages. */
  taken(count: number, timeoutMs?: number): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts Postfix's smtp-sink, which takes everything and keeps nothing. `args` make it refuse: `-r MAIL` defers, `-f RCPT`
 * refuses, `-q DATA` hangs up (smtp-sink(1)).
 */
export async function startSmtpSink(
  address: string,
  port: number,
  args: readonly string[] = [],
): Promise<SmtpSink> {
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const sink = [getPeer('smtp-sink'), '-c', ...user, ...args, `${address}:${port}`, '256']
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...sink], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let line = ''
  let messages = 0
  child.stdout.setEncoding('latin1').on('data', (text: string) => {
    // Counters come as "sess=1 quit=0 mesg=1\r", each over the last.
    const parts = (line + text).split(/[\r\n]/)
    line = parts.pop() ?? ''
    const counted = [...parts, line].findLast(part => / mesg=\d+/.test(part))
    if (counted) messages = Number(/ mesg=(\d+)/.exec(counted)?.[1])
  })
  await greeting(address, port)
  return {
    address,
    port,
    count: () => messages,
    async taken(count, timeoutMs) {
      await until(`${count} messages in smtp-sink`, () => messages >= count, timeoutMs)
    },
    stop: () => kill(child),
  }
}
