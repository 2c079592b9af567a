import { limits } from '../../base/limits.ts'
import { hasUnindexedBody, indexOldestBody } from '../../store/unindexed-bodies.ts'
import type { App } from '../app/app.ts'

/**
 * Puts into the search index the bodies for which the write of their messages had no room: one in a write, so that
 * others come between. Whoever wrote them, this process or another, is not asked: it looks once a second.
 */
export function startIndexing(app: Pick<App, 'store' | 'log'>): { stop(): Promise<void> } {
  let isStopped = false
  let working = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  const rest = () => {
    if (!isStopped) timer = setTimeout(begin, limits.indexPollMs).unref()
  }
  function begin(): void {
    working = indexBodies().catch(error => app.log.error({ err: error }, 'bodies can not be indexed'))
    working.then(rest)
  }
  async function indexBodies(): Promise<void> {
    while (!isStopped && (await hasUnindexedBody(app.store.read))) await app.store.write(indexOldestBody)
  }
  rest()
  return {
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await working
    },
  }
}
