import { Problem } from '../base/problem.ts'

const kebab = (name: string) => name.replaceAll('_', '-').replaceAll(/[A-Z]/g, one => `-${one.toLowerCase()}`)

/**
 * A fault of the query or the body, told by what of the command line it came from: `--send-at`, `<address>`, of a list its place in it.
 * @param places what stands as an argument, by its name in the API: what the help calls it
 */
export function inWordsOfOptions<Failure>(
  error: Failure,
  places: Readonly<Record<string, string>> = {},
): Failure | Problem {
  if (!(error instanceof Problem)) return error
  const wordOf = (name: string) => {
    if (places[name] !== undefined) return `<${places[name]}>`
    return `--${kebab(name === 'podId' || name === 'inboxId' ? name.slice(0, -2) : name)}`
  }
  const message = error.message.replaceAll(
    /\b(?:query|body)\/([A-Za-z_]+)(?:\/(\d+))?/g,
    (_, name: string, at: string | undefined) =>
      wordOf(name) + (at === undefined || at === '0' ? '' : ` (number ${Number(at) + 1})`),
  )
  return message === error.message ? error : new Problem(error.code, message, error.more)
}

/** What the help calls the arguments that are properties of these names. */
export function placesOf(names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map(name => [name, kebab(name)]))
}
