/**
 * How often a hostile test repeats its pattern. No test asserts how long something takes, for that says what else the
 * machine did. Read in linear time so much is a moment; in quadratic time it is minutes, and the time limit of a test
 * file (test-file.ts) ends that.
 */
export const manyTimes = 1_000_000
