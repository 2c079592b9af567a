/** `1 delivery`, `2 deliveries`. @param several where it is not `one` with an s */
export function countOf(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`
}
