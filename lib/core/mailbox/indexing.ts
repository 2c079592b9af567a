import type { Indexing } from '../../store/indexing.ts'
import type { App } from '../app/app.ts'

/**
 * Has the search index follow what is written (`lib/store/indexing.ts`), and says what goes wrong: of a message that can't be indexed once,
 * with how many they are; of what hinders all of it that it began and that it ended.
 */
export function startIndexing({ store, log }: Pick<App, 'store' | 'log'>): Indexing {
  let count = 0
  return store.keepIndex(trouble => {
    if ('messageId' in trouble) {
      count++
      log.error({ ...trouble, count }, 'a message can not be indexed: it is not found by its words')
    } else if (trouble.why === null) log.warn('the search index is kept up again')
    else log.error({ why: trouble.why }, 'the search index can not be kept up')
  })
}
