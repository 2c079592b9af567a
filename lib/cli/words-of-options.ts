import { Problem } from '../base/problem.ts'

const kebab = (name: string) => name.replaceAll('_', '-').replaceAll(/[A-Z]/g, one => `-${one.toLowerCase()}`)

/** What a sentence sends one to, as a request of the API and as a command. */
const commands: readonly (readonly [request: RegExp, command: string])[] = [
  [/GET \/v1\/domains\/([\w-]+)/g, 'mailboxctl domain records $1'],
  [/GET \/v1\/domains(?:\?domain=)?/g, 'mailboxctl domain list'],
  [/GET \/v1\/pods/g, 'mailboxctl pod list'],
  [/GET \/v1\/policy/g, 'mailboxctl policy get'],
  [/DELETE \/v1\/suppressions/g, 'mailboxctl suppression remove'],
]

const inCommands = (message: string) =>
  commands.reduce((text, [request, command]) => text.replaceAll(request, command), message)

/**
 * A fault of the query or the body, told by what of the command line it came from: `--send-at`, `<address>`, of a list its place in it. Requests that it names are
 * told as commands.
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
  const message = inCommands(error.message).replaceAll(
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
