/** The same choices each time (a linear congruential generator, as Numerical Recipes has it). */
export function choicesOf(seed: number) {
  let state = seed
  const number = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
  const one = <T>(list: readonly T[]): T => list[Math.floor(number() * list.length)]!
  const upTo = (most: number) => Math.floor(number() * (most + 1))
  const some = <T>(list: readonly T[], most: number): T[] =>
    Array.from({ length: upTo(most) }, () => one(list))
  return { one, upTo, some }
}
