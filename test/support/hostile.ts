/**
 * How often a hostile test repeats its pattern. No test asserts how long something takes, for that says what else the
 * machine did. Read in linear time so much is a moment; in quadratic time it is minutes, and the time limit of a test
 * file (test-file.ts) ends that.
 */
export const manyTimes = 1_000_000

/**
 * Texts of about `length` characters that are made to be looked at again and again: lines that begin like something, go
 * on with what could belong to it or not, and end so that it is nothing (or something) after all.
 */
export function* hostileTexts(
  length: number,
  { heads, fillings, ends }: Record<'heads' | 'fillings' | 'ends', readonly string[]>,
): Generator<string> {
  // As long as a line of an attribution, as one of a header block, and all of it one line.
  for (const width of [390, 1990, length]) {
    for (const head of heads) {
      for (const filling of fillings) {
        for (const end of ends) {
          const line = head + filling.repeat((width - head.length - end.length) / filling.length) + end
          yield `${line}\n`.repeat(Math.ceil(length / (line.length + 1)))
        }
      }
    }
  }
}
