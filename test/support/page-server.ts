import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** Serves one page at an origin of its own until the test is over; gives its address. */
export async function servePage(t: Test, html: string): Promise<string> {
  const server = createServer((_request, answer) =>
    answer.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}
