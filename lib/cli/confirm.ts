import { createInterface } from 'node:readline/promises'
import { printable } from '../base/text.ts'
import { Refused } from './output.ts'

/**
 * Asks on the terminal before harm is done. What strangers wrote may stand in it.
 * @throws Refused when the answer is not yes, or nobody is there to give it
 */
export async function confirm(harm: string): Promise<void> {
  if (!process.stdin.isTTY) throw new Refused(`${harm} Nobody is there to be asked: say --yes`)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await lines.question(`${printable(harm)} Go on? [y/N] `)
    if (!/^y(es)?$/i.test(answer.trim())) throw new Refused('nothing was done')
  } finally {
    lines.close()
  }
}
