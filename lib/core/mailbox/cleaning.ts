import type { App } from '../app/app.ts'
import { removeStrayFiles } from './raws.ts'

/** Begins to remove the files without a row that former processes left, beside the work. Gives the function that ends it. */
export function startCleaning(app: App, ids: readonly string[]): () => Promise<void> {
  const abort = new AbortController()
  const cleaning = removeStrayFiles(app, ids, abort.signal).catch(error =>
    app.log.error({ err: error }, 'files without a row can not be removed'),
  )
  return () => {
    abort.abort()
    return cleaning
  }
}
