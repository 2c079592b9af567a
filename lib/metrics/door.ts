import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Log } from '../base/log.ts'
import { packageVersion } from '../base/package-root.ts'
import { requestsWatchMs } from '../base/time.ts'
import type { Metrics } from './registry.ts'

/** How long an answer of /metrics is given again. */
const metricsKeptMs = 1_000
/** How long a request for metrics may take. */
const metricsRequestMs = 10_000
/** Connections that ask for metrics. */
const metricsConnections = 20

/** Where /metrics is asked for. */
export interface MetricsDoor {
  listen(host: string, port: number): Promise<AddressInfo>
  stop(): Promise<void>
}

/**
 * Answers `GET /metrics` on listeners of its own, so that the API's may be public and this one not.
 * @param look sets the gauges before an answer is made. Who asks at the same time, or soon after, gets the same answer.
 */
export function createMetricsDoor(metrics: Metrics, look: () => Promise<void>, log: Log): MetricsDoor {
  const servers: ReturnType<typeof createServer>[] = []
  metrics.set('build_info', 1, packageVersion(), process.version)
  let answer: Promise<string> | undefined

  async function make(): Promise<string> {
    await look()
    return metrics.text()
  }

  function ask(): Promise<string> {
    if (!answer) {
      const made = make()
      answer = made
      const forget = () => {
        if (answer === made) answer = undefined
      }
      made.then(() => setTimeout(forget, metricsKeptMs).unref(), forget)
    }
    return answer
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split('?')[0]
    if (path !== '/metrics') return end(response, 404, 'text/plain', 'There is /metrics here.\n')
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD')
      return end(response, 405, 'text/plain', 'Metrics are asked for with GET.\n')
    }
    try {
      end(response, 200, metrics.contentType, await ask())
    } catch (error) {
      log.error({ err: error }, 'metrics can not be gathered')
      end(response, 500, 'text/plain', 'The metrics can not be gathered; the log says why.\n')
    }
  }

  return {
    async listen(host, port) {
      const server = createServer(
        {
          headersTimeout: metricsRequestMs,
          requestTimeout: metricsRequestMs,
          connectionsCheckingInterval: requestsWatchMs,
          maxHeaderSize: 8 * 1024,
        },
        (request, response) => void handle(request, response),
      )
      // Who asks and does not read is cut off.
      server.timeout = metricsRequestMs
      server.maxConnections = metricsConnections
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      server.once('error', reject)
      server.listen({ host, port, ipv6Only: true }, resolve)
      await promise
      servers.push(server)
      server.off('error', reject)
      server.on('error', error => log.error({ err: error }, 'the door of the metrics can not accept'))
      return server.address() as AddressInfo
    },
    async stop() {
      await Promise.all(
        servers.map(server => {
          const closed = new Promise(resolve => server.close(resolve))
          server.closeAllConnections()
          return closed
        }),
      )
    },
  }
}

function end(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, { 'Content-Type': contentType, 'X-Content-Type-Options': 'nosniff' })
  // Node writes no body to HEAD.
  response.end(body)
}
