import { accessSync, constants, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import type { Dns } from '../base/network.ts'
import { type FormatName, formats, writtenAddress, writtenBaseUrl, writtenDomain } from '../config/format.ts'
import { tomlLine, writeToml } from '../config/toml.ts'
import { confirmDomain } from './other-mail.ts'
import { writeText } from './terminal.ts'

/** What setup must know; undefined is what was not said. */
export interface SetupAnswers {
  readonly hostname?: string
  readonly domain?: string
  readonly baseUrl?: string
  readonly operatorAddress?: string
  readonly certificate?: string
  readonly key?: string
  readonly acme?: string
  readonly agreeToTerms?: boolean
  readonly submission?: boolean
}

const letsEncrypt = 'https://acme-v02.api.letsencrypt.org/directory'

/** What can be asked for: its option, the question, what Enter stands for, and the form of the setting that it becomes. */
const questions: readonly {
  readonly name: 'domain' | 'hostname' | 'baseUrl' | 'operatorAddress'
  readonly option: string
  readonly text: string
  readonly proposal: (answers: SetupAnswers) => string
  readonly format: FormatName
  readonly written: (text: string) => string
}[] = [
  {
    name: 'domain',
    option: '--domain',
    text: 'The domain of your addresses',
    proposal: () => '',
    format: 'domain',
    written: writtenDomain,
  },
  {
    name: 'hostname',
    option: '--hostname',
    text: "This server's own name, whose address is that of this machine",
    proposal: ({ domain }) => `mail.${domain}`,
    format: 'domain',
    written: writtenDomain,
  },
  {
    name: 'baseUrl',
    option: '--base-url',
    text: 'Where clients will reach the API (a proxy with TLS goes before it)',
    proposal: ({ hostname }) => `https://${hostname}`,
    format: 'base-url',
    written: writtenBaseUrl,
  },
  {
    name: 'operatorAddress',
    option: '--operator-address',
    text: 'Your own address elsewhere, for copies of the mail to postmaster and abuse (empty: none)',
    proposal: () => '',
    format: 'address',
    written: writtenAddress,
  },
]

/** Options that must be given where nobody can be asked. */
export function missingOptions(answers: SetupAnswers): string[] {
  return questions
    .filter(({ name }) => (name === 'domain' || name === 'hostname') && !answers[name])
    .map(one => one.option)
}

/** What was said, in the form that settings have: names in A-labels. That one was written otherwise is told. */
export function writtenAnswers(given: SetupAnswers): SetupAnswers {
  const changed = questions.flatMap(({ name, written }) => {
    const said = given[name]
    return said === undefined ? [] : [[name, tellWritten(said, written(said))] as const]
  })
  return { ...given, ...Object.fromEntries(changed) }
}

function tellWritten(said: string, written: string): string {
  // Capitals and a final dot are no news to anybody.
  if (/[^\x00-\x7f]/.test(said) && said !== written) {
    writeText('stderr', `${said} is written ${written} in DNS, and so by mailboxd\n`)
  }
  return written
}

/** Asks on the terminal for what no option said. A domain that receives mail elsewhere is used only if the answer is given twice. */
export async function askForAnswers(given: SetupAnswers, dns: Dns): Promise<SetupAnswers> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  let answers = given
  const ask = (text: string) => terminal.question(text)
  try {
    for (const { name, text, proposal, format, written } of questions) {
      while (answers[name] === undefined) {
        const proposed = proposal(answers)
        const said = (
          await terminal.question(proposed === '' ? `${text}: ` : `${text} [${proposed}]: `)
        ).trim()
        const value = said === '' ? proposed : tellWritten(said, written(said))
        const mayBeEmpty = name === 'operatorAddress'
        const fault = value === '' ? undefined : formats[format].fault(value)
        if (fault !== undefined) writeText('stderr', `It ${fault}.\n`)
        else if (name === 'domain' && value !== '') {
          const domain = await confirmDomain(ask, dns, value, answers.hostname)
          answers = domain === undefined ? answers : { ...answers, domain }
        } else if (value !== '' || mayBeEmpty) answers = { ...answers, [name]: value }
      }
    }
    if (answers.certificate === undefined && answers.acme === undefined) {
      const certificate = await askForFile(
        ask,
        "The file of a TLS certificate (Enter: get one from Let's Encrypt): ",
      )
      if (certificate === undefined) answers = { ...answers, acme: letsEncrypt }
      else {
        const key = await askForFile(ask, 'The file of its key (Enter: the same): ')
        answers = { ...answers, certificate, ...(key !== undefined && { key }) }
      }
    }
    if (answers.acme !== undefined && !answers.agreeToTerms) {
      const said = await terminal.question(
        `Do you agree to the terms of service of ${URL.parse(answers.acme)?.host ?? answers.acme}? [y/N]: `,
      )
      answers = { ...answers, agreeToTerms: /^y(es)?$/i.test(said.trim()) }
    }
    return answers
  } finally {
    terminal.close()
  }
}

/** @returns the absolute path of a file that can be read; undefined for Enter */
async function askForFile(
  ask: (text: string) => Promise<string>,
  question: string,
): Promise<string | undefined> {
  for (;;) {
    const said = (await ask(question)).trim()
    if (said === '') return undefined
    const path = resolve(said)
    try {
      accessSync(path, constants.R_OK)
      if (statSync(path).isFile()) return path
      writeText('stderr', `${path} is not a file.\n`)
    } catch (error) {
      writeText('stderr', `${path} cannot be read: ${error instanceof Error ? error.message : error}.\n`)
    }
  }
}

/** The configuration that the answers make, as a file. */
export function configOf(answers: SetupAnswers, dataDir: string | undefined): string {
  const { hostname, domain, baseUrl, operatorAddress, certificate, key, acme, agreeToTerms, submission } =
    answers
  const top = Object.entries({
    hostname,
    account_domain: domain,
    base_url: baseUrl,
    operator_address: operatorAddress,
    data_dir: dataDir,
  })
  const tables = {
    ...(submission && {
      submission: { listen: ['0.0.0.0:587', '[::]:587'], listen_tls: ['0.0.0.0:465', '[::]:465'] },
    }),
    ...(acme !== undefined && agreeToTerms && { acme: { directory: acme, terms_agreed: true } }),
    ...(certificate !== undefined && { tls: { certificate: [{ certificate, key: key ?? certificate }] } }),
  }
  return [
    '# Written by mailboxctl setup. mailboxctl config describe tells of every setting; mailboxctl config check looks whether it is right.',
    ...top
      .filter(([, value]) => value !== undefined && value !== '')
      .map(([name, value]) => tomlLine(name, value)),
    '',
    writeToml(tables),
  ].join('\n')
}
