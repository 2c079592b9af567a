/**
 * Runs the tests, some at a time. The fuzzers try for a time that is told, so they have a lane of their own beside the others, one after
 * another: a minute of each is then not so much more of the whole. Who has no other test left takes one of them, too.
 * @param run never rejects
 */
export async function runInLanes<T extends { readonly files: readonly string[] }>(
  tests: readonly T[],
  jobs: number,
  run: (test: T) => Promise<void>,
): Promise<void> {
  const isFuzzer = ({ files }: T) => files.some(file => file.startsWith('test/fuzz/'))
  const fuzzers = tests.filter(isFuzzer).values()
  const others = tests.filter(test => !isFuzzer(test)).values()
  const goThrough = async (...lists: Iterable<T>[]) => {
    for (const list of lists) for (const test of list) await run(test)
  }
  await Promise.all([goThrough(fuzzers), ...Array.from({ length: jobs }, () => goThrough(others, fuzzers))])
}
