/**
 * Runs the tests, some at a time. The fuzzers try for a time that is told, so they have a lane of their own beside the others, one after
 * another: a minute of each is then not so much more of the whole. Who has no other test left takes one of them, too.
 * @param run never rejects
 */
export async function runInLanes(
  files: readonly string[],
  jobs: number,
  run: (file: string) => Promise<void>,
): Promise<void> {
  const isFuzzer = (file: string) => file.startsWith('test/fuzz/')
  const fuzzers = files.filter(isFuzzer).values()
  const others = files.filter(file => !isFuzzer(file)).values()
  const goThrough = async (...lists: Iterable<string>[]) => {
    for (const list of lists) for (const file of list) await run(file)
  }
  await Promise.all([goThrough(fuzzers), ...Array.from({ length: jobs }, () => goThrough(others, fuzzers))])
}
