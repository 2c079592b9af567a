import { getPeer } from './peers.ts'
import { runProgram } from './program.ts'

export interface Swaks {
  /** 0 when the server took the message; 24 when it refused all recipients, 26 the data, 2 when nobody answered. */
  readonly code: number | null
  /** The session line by line: ` -> ` what was sent, `<-  ` the replies, `<** ` the replies that refuse. */
  readonly transcript: string
}

/** Sends one message with swaks: `await swaks(['--server', '127.0.0.1:2525', '--to', to, '--data', '-'], raw)`. */
export async function swaks(args: readonly string[], input?: string | Buffer): Promise<Swaks> {
  const { code, stdout, stderr } = await runProgram(getPeer('swaks'), args, input)
  return { code, transcript: stdout + stderr }
}
