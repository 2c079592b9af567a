import type { Store } from '../../lib/store/open.ts'

/** The same store, in which `happens` is done before each write begins, as if another process had come before it. */
export function beforeWrites(store: Store, happens: () => Promise<unknown>): Store {
  return {
    ...store,
    async write(work) {
      await happens()
      return store.write(work)
    },
    async writeHolding(held, work) {
      await happens()
      return store.writeHolding(held, work)
    },
  }
}
