import type { Command } from 'commander'

/** What stands behind the options in the help of a command, in lines as long as those above it. */
export function helpText(text: string): (context: { readonly command: Command }) => string {
  return ({ command }) => `\n${command.createHelp().boxWrap(text, helpWidthOf(command))}`
}

/** A list of terms and what each means, under its heading, as the help of a command has its options. */
export function helpList(
  heading: string,
  items: readonly (readonly [term: string, meaning: string])[],
): (context: { readonly command: Command }) => string {
  const width = Math.max(...items.map(([term]) => term.length))
  return ({ command }) => {
    const helper = command.createHelp()
    helper.prepareContext({ helpWidth: helpWidthOf(command) })
    const lines = items.map(([term, meaning]) => helper.formatItem(term, width, meaning, helper))
    return `\n${heading}\n${lines.join('\n')}`
  }
}

/** That of the terminal; commander says 80 where there is none. */
const helpWidthOf = (command: Command) => command.configureOutput().getOutHelpWidth?.() ?? 80
