import { connect } from 'node:net'
import type { Answer } from './api.ts'

export interface RawRequest {
  readonly method: string
  /** The target as it stands in the request line. */
  readonly path: string
  /** Lines as they are sent, in Latin-1. */
  readonly headers: readonly string[]
  readonly body: string | undefined
}

/** Sends a request on a connection of its own, byte for byte, and gives what came back; throws when that is no HTTP. */
export async function sendRaw(port: number, request: RawRequest): Promise<Answer> {
  const body = request.body === undefined ? undefined : Buffer.from(request.body)
  const head = [
    `${request.method} ${request.path} HTTP/1.1`,
    'Host: x',
    'Connection: close',
    ...request.headers,
    ...(body ? [`Content-Length: ${body.length}`] : []),
    '',
    '',
  ]
  const chunks: Buffer[] = []
  await new Promise<void>((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve())
    socket.write(Buffer.concat([Buffer.from(head.join('\r\n'), 'latin1'), ...(body ? [body] : [])]))
  })
  return readAnswer(Buffer.concat(chunks))
}

function readAnswer(bytes: Buffer): Answer {
  const end = bytes.indexOf('\r\n\r\n')
  const [first = '', ...lines] = bytes.toString('latin1', 0, Math.max(end, 0)).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1])
  // 100 Continue, or the like, comes before the answer.
  if (status < 200) return readAnswer(bytes.subarray(end + 4))
  if (Number.isNaN(status)) throw new Error(`no HTTP: ${JSON.stringify(bytes.toString('latin1', 0, 200))}`)
  const headers = new Headers(lines.map(line => [...line.split(/: ?(.*)/s, 2)] as [string, string]))
  const rest = bytes.subarray(end + 4)
  const content = headers.get('transfer-encoding') === 'chunked' ? joinChunks(rest) : rest
  const isJson = headers.get('content-type')?.startsWith('application/json')
  return {
    status,
    headers,
    bytes: content,
    body: isJson && content.length > 0 ? JSON.parse(content.toString()) : undefined,
  }
}

function joinChunks(bytes: Buffer): Buffer {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16)
    if (end < 0 || Number.isNaN(size)) throw new Error('the answer ends before its end')
    if (size === 0) return Buffer.concat(chunks)
    chunks.push(bytes.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}
