import { once } from 'node:events'
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { oneLine } from '../../base/text.ts'

/** Bytes of the answer of a scanner. */
export const scannerAnswerBytes = 1024 * 1024

/**
 * Gives a message to ClamAV's daemon (clamd(8), INSTREAM) and the name of the virus that it found, undefined when it found none.
 * @param content is read to its end, or destroyed
 * @throws Error when it was not scanned: no daemon, no answer before `signal`, a message over its StreamMaxLength
 */
export async function scanWithClamav(
  at: NetConnectOpts,
  content: Readable,
  signal: AbortSignal,
): Promise<string | undefined> {
  const socket = connect(at)
  // It resets the connection of a stream that is too long, before or after its answer.
  const gone = new AbortController()
  socket.on('error', error => gone.abort(error))
  socket.on('close', () => gone.abort(new Error('clamd closed the connection')))
  const either = AbortSignal.any([signal, gone.signal])
  const answer = readAnswer(socket, either)
  try {
    await Promise.all([send(socket, content, either), answer])
  } finally {
    socket.destroy()
    content.destroy()
  }
  return readVirus(await answer)
}

async function send(socket: Socket, content: Readable, signal: AbortSignal): Promise<void> {
  socket.write('zINSTREAM\0')
  for await (const chunk of content as AsyncIterable<Buffer>) {
    signal.throwIfAborted()
    const length = Buffer.alloc(4)
    length.writeUInt32BE(chunk.length)
    socket.write(length)
    if (!socket.write(chunk)) await once(socket, 'drain', { signal })
  }
  socket.write(Buffer.alloc(4))
}

/** Up to the NUL that ends it. */
function readAnswer(socket: Socket, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    socket.setEncoding('utf8').on('data', (some: string) => {
      text += some
      const end = text.indexOf('\0')
      if (end >= 0) resolve(text.slice(0, end))
      else if (text.length > scannerAnswerBytes) reject(new Error('clamd answered without an end'))
    })
    signal.addEventListener('abort', () => reject(signal.reason))
    if (signal.aborted) reject(signal.reason)
  })
}

function readVirus(answer: string): string | undefined {
  if (answer === 'stream: OK') return undefined
  const virus = answer.startsWith('stream: ') && answer.endsWith(' FOUND') ? answer.slice(8, -6) : ''
  if (virus === '') throw new Error(`clamd did not scan: ${oneLine(answer)}`)
  return oneLine(virus)
}
