import { setImmediate } from 'node:timers/promises'
import { SmtpSession } from '../../../lib/courier/smtp/session.ts'

/** What sessions say at last and nobody waits for: RSET and QUIT. */
const lastWords = new Set<Promise<unknown>>()
for (const name of ['reset', 'quit'] as const) {
  const session: Record<typeof name, () => Promise<unknown>> = SmtpSession.prototype
  const say = session[name]
  session[name] = function (this: SmtpSession) {
    const said = say.call(this)
    lastWords.add(said)
    return said
  }
}

/** Until the last words of all sessions are answered, and what follows from that is done. */
export async function settled(): Promise<void> {
  for (const said of lastWords) {
    await said
    lastWords.delete(said)
  }
  await setImmediate()
}

/** What is said in one way or the other by how the system tells it, and what a library says of TLS. */
export function plainly(text: string): string {
  return text
    .replace(/Error initiating TLS.*|Connection closed unexpectedly|.*(?:ECONNRESET|EPIPE).*/s, 'it is gone')
    .replace('the connection was closed', 'it is gone')
    .replace(/TLS with it failed: .*/s, 'TLS with it failed')
    .replace(/(\d):\d{4,5}\b/, '$1:<port>')
}
