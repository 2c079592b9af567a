import { createInterface } from 'node:readline/promises'
import { tomlLine, writeToml } from '../config/toml.ts'

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

/** What can be asked for: its option, the question, and what Enter stands for. */
const questions: readonly {
  readonly name: 'domain' | 'hostname' | 'baseUrl' | 'operatorAddress'
  readonly option: string
  readonly text: string
  readonly proposal: (answers: SetupAnswers) => string
}[] = [
  { name: 'domain', option: '--domain', text: 'The domain of your addresses', proposal: () => '' },
  {
    name: 'hostname',
    option: '--hostname',
    text: "This server's own name, whose address is that of this machine",
    proposal: ({ domain }) => `mail.${domain}`,
  },
  {
    name: 'baseUrl',
    option: '--base-url',
    text: 'Where clients will reach the API (a proxy with TLS goes before it)',
    proposal: ({ hostname }) => `https://${hostname}`,
  },
  {
    name: 'operatorAddress',
    option: '--operator-address',
    text: 'Your own address elsewhere, for copies of the mail to postmaster and abuse (empty: none)',
    proposal: () => '',
  },
]

/** Options that must be given where nobody can be asked. */
export function missingOptions(answers: SetupAnswers): string[] {
  return questions
    .filter(({ name }) => (name === 'domain' || name === 'hostname') && !answers[name])
    .map(one => one.option)
}

/** Asks on the terminal for what no option said. */
export async function askForAnswers(given: SetupAnswers): Promise<SetupAnswers> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  let answers = given
  try {
    for (const { name, text, proposal } of questions) {
      while (answers[name] === undefined) {
        const proposed = proposal(answers)
        const said = (
          await terminal.question(proposed === '' ? `${text}: ` : `${text} [${proposed}]: `)
        ).trim()
        const value = said === '' ? proposed : said
        if (value !== '' || name === 'operatorAddress') answers = { ...answers, [name]: value }
      }
    }
    if (answers.certificate === undefined && answers.acme === undefined) {
      const file = (
        await terminal.question("The file of a TLS certificate (Enter: get one from Let's Encrypt): ")
      ).trim()
      if (file === '') answers = { ...answers, acme: letsEncrypt }
      else
        answers = {
          ...answers,
          certificate: file,
          key: (await terminal.question('The file of its key: ')).trim(),
        }
    }
    if (answers.acme !== undefined && !answers.agreeToTerms) {
      const said = await terminal.question(
        `Do you agree to the terms of service of ${new URL(answers.acme).host}? [y/N]: `,
      )
      answers = { ...answers, agreeToTerms: /^y(es)?$/i.test(said.trim()) }
    }
    return answers
  } finally {
    terminal.close()
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
