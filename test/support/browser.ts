import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { getPeer } from './peers.ts'
import { temporaryDir } from './temporary-dir.ts'

export interface Visit {
  /** The document when its scripts have come to rest. */
  readonly dom: string
  /** What the page, or the browser about it, wrote to the console. */
  readonly console: readonly string[]
  /** Every request that the page caused: method and whole URL, or CONNECT and host. */
  readonly asked: readonly string[]
}

/** Hosts of its maker that Chromium asks for itself, whatever the page. */
const chromiumsOwn =
  /\b(clients2\.google\.com|accounts\.google\.com|update\.googleapis\.com|content-autofill\.googleapis\.com)\b/

/** Opens `url` in a headless Chromium, all of whose requests go through a proxy that lets them reach loopback alone. */
export async function visit(t: Test, url: string): Promise<Visit> {
  const asked: string[] = []
  const proxy = createServer((incoming, answer) => {
    asked.push(`${incoming.method} ${incoming.url}`)
    const target = URL.parse(incoming.url ?? '')
    if (target?.hostname !== '127.0.0.1') {
      answer.writeHead(502).end()
      return
    }
    const { method, headers } = incoming
    const outgoing = request(target, { method: method ?? 'GET', headers, agent: false }, from => {
      answer.writeHead(from.statusCode ?? 502, from.headers)
      from.pipe(answer)
    })
    outgoing.on('error', () => answer.destroy())
    incoming.pipe(outgoing)
  })
  proxy.on('connect', (incoming, socket) => {
    asked.push(`CONNECT ${incoming.url}`)
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const { port } = proxy.address() as AddressInfo
  const args = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--disable-default-apps',
    '--disable-features=OptimizationHints,MediaRouter,Translate',
    `--user-data-dir=${temporaryDir(t)}`,
    `--proxy-server=http://127.0.0.1:${port}`,
    '--proxy-bypass-list=<-loopback>',
    '--enable-logging=stderr',
    '--virtual-time-budget=10000',
    '--dump-dom',
    url,
  ]
  try {
    return await new Promise((resolve, reject) => {
      execFile(
        getPeer('chromium'),
        args,
        { maxBuffer: 64 * 1024 * 1024, timeout: 60_000, killSignal: 'SIGKILL' },
        (error, stdout, stderr) => {
          if (error) return reject(error)
          const lines = stderr.split('\n').filter(line => line.includes(':CONSOLE'))
          resolve({ dom: stdout, console: lines, asked: asked.filter(each => !chromiumsOwn.test(each)) })
        },
      )
    })
  } finally {
    proxy.closeAllConnections()
    await new Promise(resolve => proxy.close(resolve))
  }
}
