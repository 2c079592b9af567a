/**
 * Bounds what a library that computes on a stranger's bytes may allocate outside the heap: the resource limits of a worker
 * thread do not count that, and a PDF of 2 MB can be inflated to gigabytes. For a thread of its own: it changes the globals.
 */

const names = [
  'ArrayBuffer',
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'Float32Array',
  'Float64Array',
] as const

let left = Number.POSITIVE_INFINITY

/** Allows so many bytes from now on, all together; beyond them an allocation throws. */
export function allowAllocations(bytes: number): void {
  left = bytes
}

/** Has the global constructors count what they allocate. */
export function countAllocations(): void {
  const globals = globalThis as unknown as Record<string, { BYTES_PER_ELEMENT?: number }>
  for (const name of names) {
    const original = globals[name] as unknown as NewableFunction & { BYTES_PER_ELEMENT?: number }
    const counting: NewableFunction = new Proxy(original, {
      construct(target, given: readonly unknown[], asked) {
        left -= elementsOf(given[0]) * (original.BYTES_PER_ELEMENT ?? 1)
        if (left < 0) throw new RangeError('it needs more memory than it may')
        return Reflect.construct(target, given, asked === counting ? target : asked)
      },
    })
    globals[name] = counting as never
  }
  // It inflates outside of all this; where it is not there, pdf.js inflates by itself.
  Reflect.deleteProperty(globalThis, 'DecompressionStream')
}

/** How many elements are made of the first argument; a view of a buffer that is there makes none. */
function elementsOf(first: unknown): number {
  return typeof first === 'number' ? first : ((first as { length?: number } | null | undefined)?.length ?? 0)
}
