/** Destinations that memory knows something of. */
export const destinationsKnown = 10_000

/** A map that keeps the entries that were set last, at most so many of them. */
export class Recent<Value> {
  readonly #values = new Map<string, Value>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  set(name: string, value: Value): void {
    this.#values.delete(name)
    this.#values.set(name, value)
    if (this.#values.size > this.#most) this.#values.delete(this.#values.keys().next().value!)
  }

  delete(name: string): void {
    this.#values.delete(name)
  }

  get(name: string): Value | undefined {
    return this.#values.get(name)
  }
}
