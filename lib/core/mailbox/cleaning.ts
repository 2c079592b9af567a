import type { App } from '../app/app.ts'
import { setAsideStrays, tendStrays } from './raws.ts'

/** Begins to set aside the files without a row that earlier processes left, next to other work. Returns the function that ends it. */
export function startCleaning(app: App, ids: readonly string[]): () => Promise<void> {
  let isStopping = false
  const clean = async () => {
    await tendStrays(app, () => isStopping)
    await setAsideStrays(app, [ids], 'files', () => isStopping)
  }
  const cleaning = clean().catch(error => {
    if (!isStopping) app.log.error({ err: error }, 'files without a row could not be moved to stray/')
  })
  return () => {
    isStopping = true
    return cleaning
  }
}
