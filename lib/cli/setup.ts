import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { replaceFile } from '../base/files.ts'
import { printable, shellWord } from '../base/text.ts'

import { ConfigFault } from '../config/fault.ts'
import { type Config, parseConfig } from '../config/load.ts'
import { createInbox, listInboxes, requireMailboxName } from '../core/account/inboxes.ts'
import { createKey, listAllKeys } from '../core/account/keys.ts'
import type { App } from '../core/app/app.ts'
import { operator } from '../core/app/caller.ts'
import type { Finding } from '../core/domains/diagnosis.ts'
import { lookAtDomain } from '../core/domains/domains.ts'
import { systemDns } from '../core/domains/existing-mail.ts'
import { type RecordToPublish, recordsToPublish } from '../core/domains/host-records.ts'
import { readRunning } from '../core/running.ts'
import { checkCertificates } from './certificates.ts'
import type { Ctl } from './ctl.ts'
import { diagnose, tellDiagnosis, untilNextAsk } from './dns.ts'
import { cautionOf, zoneToPublish } from './domain-report.ts'
import { tellFindings } from './findings.ts'
import { asOwner, findDaemonUser, systemConfigPath } from './installation.ts'
import { takenPorts } from './not-running.ts'
import { withApp } from './open.ts'
import { requireNoOtherMail } from './other-mail.ts'
import { Refused } from './output.ts'
import { selfSignedFindings, serverFindings, withoutTlsFindings } from './server-findings.ts'
import { askForAnswers, configOf, missingOptions, type SetupAnswers, writtenAnswers } from './setup-config.ts'
import { commandOf } from './words.ts'

interface SetupOptions extends SetupAnswers {
  readonly inbox: string
  readonly wait?: boolean
  readonly replaceMx?: boolean
}

export function addSetupCommand(program: Command, ctl: Ctl): void {
  commandOf(program, 'setup')
    .option('--domain <domain>', 'the domain of your addresses')
    .option('--replace-mx', 'use the domain although another server receives its mail now')
    .option('--hostname <name>', "this server's own name, whose address is that of this machine")
    .option('--base-url <url>', 'where clients will reach the API')
    .option('--operator-address <address>', 'who gets copies of the mail to postmaster and abuse')
    .option('--acme <directory>', 'get certificates from this CA (the address of its directory)')
    .option('--agree-to-terms', 'you agree to the terms of service of that CA')
    .option('--certificate <file>', 'the TLS certificate, PEM, with its chain', file => resolve(file))
    .option('--key <file>', 'its key', file => resolve(file))
    .option('--submission', 'take mail to send by SMTP, too, on ports 587 and 465')
    .option('--inbox <name>', 'the part before the @ of the first inbox', 'hello')
    .option('--wait', 'wait until the DNS records are published and right')
    .action(async ({ inbox, wait, replaceMx = false, ...said }: SetupOptions, command: Command) => {
      if (ctl.installation().data !== undefined)
        command.error(
          'error: --data is of local mode, which needs no setup: say with --config which file it writes',
          {
            exitCode: 2,
          },
        )
      const given = writtenAnswers(said)
      const path = ctl.installation().config ?? systemConfigPath
      // An empty one says nothing: a full disk may have left it.
      const isNew = !existsSync(path) || statSync(path).size === 0
      requireMailboxName(inbox)
      if (isNew) await writeConfig(path, await complete(given, replaceMx, command))
      const config = parseConfig(readFileSync(path, 'utf8'), path)
      const contradicted = contradictions(given, config)
      if (contradicted.length > 0) {
        command.error(
          `error: ${path} is there and says otherwise: ${contradicted.join(', ')}. Change it there`,
        )
      }
      giveToDaemon(path, config.data_dir)
      const wasUp = (await readRunning(config.data_dir)).isUp
      const reason = whyNoService(path)
      if (reason === undefined) {
        if (!wasUp) requireFreePorts(path, config)
        await startService(path, config)
      }
      const isStarted = wasUp || reason === undefined
      const start = `mailboxd --config ${shellWord(path)}`
      const state = wasUp
        ? 'mailboxd runs already.'
        : reason === undefined
          ? 'mailboxd runs.'
          : `mailboxd was not started: ${reason}. Start it with: ${asOwner(config.data_dir, start) ?? start}`
      const made = await withApp({ config: path }, app => makeFirst(app, inbox), { mayMake: true })
      const { data_dir: dataDir } = config
      const head = `${isNew ? 'Wrote' : 'Kept'} ${path}. ${state}\n\ndata    ${dataDir}`
      ctl.output().say({ config: path, dataDir, ...made, isStarted }, () => tell(path, head, made))
      if (!wait) return
      const found = await withApp({ config: path }, app => diagnose(app, undefined, untilNextAsk))
      ctl.output().say(found, () => tellDiagnosis(found))
    })
}

async function complete(given: SetupAnswers, replaceMx: boolean, command: Command): Promise<SetupAnswers> {
  if (given.domain !== undefined && !replaceMx)
    await requireNoOtherMail(systemDns(), given.domain, given.hostname)
  if (process.stdin.isTTY) return askForAnswers(given, systemDns())
  const missing = missingOptions(given)
  if (missing.length > 0) command.error(`error: without a terminal to ask on, give ${missing.join(' and ')}`)
  if (given.acme !== undefined && !given.agreeToTerms) {
    command.error("error: --acme needs --agree-to-terms, when you have read the CA's")
  }
  return given
}

/** @throws ConfigFault before anything is written */
async function writeConfig(path: string, answers: SetupAnswers): Promise<void> {
  const text = configOf(answers, path === systemConfigPath ? undefined : `${dirname(path)}/data`)
  const config = parseConfig(text, path)
  const { faults } = await checkCertificates(config)
  if (faults.length > 0) throw new ConfigFault(path, faults)
  if (whyNoService(path) === undefined) requireFreePorts(path, config)
  mkdirSync(dirname(path), { recursive: true })
  await replaceFile(path, text)
}

/**
 * Lets the daemon's user read the configuration and its folder, and gives it the data directory. Root does so on each run, because the
 * run before may have been cut off anywhere: files that belong to root alone are left from it.
 */
function giveToDaemon(path: string, dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const user = process.getuid?.() === 0 ? findDaemonUser() : undefined
  if (!user) return
  const folder = statSync(dirname(path))
  // 0700 is what the umask makes of a folder that is created here; another mode is somebody's choice.
  if (folder.uid === 0 && folder.gid === 0 && (folder.mode & 0o777) === 0o700 && path === systemConfigPath) {
    chownSync(dirname(path), 0, user.gid)
    chmodSync(dirname(path), 0o750)
  }
  const { uid, gid } = statSync(path)
  if (uid === 0 && gid === 0) {
    chownSync(path, 0, user.gid)
    chmodSync(path, 0o640)
  }
  if (statSync(dataDir).uid !== 0) return
  // The directory is the last: as long as it is root's, there may be more in it that is.
  const inside = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).map(name => join(dataDir, name))
  for (const each of [...inside, dataDir]) if (lstatSync(each).uid === 0) lchownSync(each, user.uid, user.gid)
}

function contradictions(given: SetupAnswers, config: ReturnType<typeof parseConfig>): string[] {
  const [certificate] = config.tls.certificate
  const isSubmitted = config.submission.listen.length + config.submission.listen_tls.length > 0
  const there: readonly (readonly [setting: string, said: unknown, value: unknown])[] = [
    ['account_domain', given.domain, config.account_domain],
    ['hostname', given.hostname, config.hostname],
    ['base_url', given.baseUrl, config.base_url],
    ['operator_address', given.operatorAddress, config.operator_address],
    ['acme.directory', given.acme, config.acme.directory],
    ['certificate (of [[tls.certificate]])', given.certificate, certificate?.certificate],
    ['key (of [[tls.certificate]])', given.key, certificate?.key],
    ['submission', given.submission, isSubmitted || undefined],
  ]
  return there
    .filter(([, said, value]) => said !== undefined && said !== value)
    .map(([name, , value]) =>
      name === 'submission'
        ? 'submission is not set (add [submission] with listen = ["0.0.0.0:587", "[::]:587"] and listen_tls = ["0.0.0.0:465", "[::]:465"]; where systemd runs it, enable mailboxd-submission.socket and mailboxd-submissions.socket)'
        : `${name} is ${value ?? 'not set'}`,
    )
}

/** Why setup does not start the service of systemd; undefined if it does. */
function whyNoService(path: string): string | undefined {
  const unit = '/usr/lib/systemd/system/mailboxd.service'
  if (path !== systemConfigPath) return `the service of systemd is for ${systemConfigPath} alone`
  if (process.getuid?.() !== 0) return 'only root starts the service of systemd'
  if (!existsSync('/run/systemd/system')) return 'systemd does not run here'
  if (!existsSync(unit)) return `there is no ${unit}`
  return undefined
}

/** @throws Refused with the finding of the doctor for each port that another program holds */
function requireFreePorts(path: string, config: Config): void {
  const taken = takenPorts({ config: path }, config)
  if (taken.length > 0) throw new Refused(`mailboxd cannot start:\n\n${tellFindings(taken)}`)
}

/** @throws Refused with the findings of the doctor, or else the last lines of the daemon's log, if the service does not start */
async function startService(path: string, config: Config): Promise<void> {
  const units = ['mailboxd-smtp.socket', 'mailboxd-http.socket', 'mailboxd.service']
  try {
    execFileSync('systemctl', ['start', ...units], { stdio: ['ignore', 'ignore', 'pipe'] })
  } catch {
    const found = [...takenPorts({ config: path }, config), ...(await serverFindings(config))]
    const errors = found.filter(({ level }) => level === 'error')
    const reason = errors.length > 0 ? tellFindings(errors) : lastOfLog()
    throw new Refused(
      `mailboxd did not start:\n\n${reason}\n\nThen run mailboxctl setup again, which keeps ${path}`,
    )
  }
}

function lastOfLog(): string {
  const more = 'mailboxctl doctor and journalctl -u mailboxd say more'
  try {
    const asked = ['-u', 'mailboxd', '-n', '5', '-o', 'cat', '--no-pager']
    const lines = execFileSync('journalctl', asked, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    return `${printable(lines).trimEnd()}\n${more}`
  } catch {
    return more
  }
}

interface Made {
  readonly records: readonly RecordToPublish[]
  readonly inbox: string
  /** Only of a key that was made now. */
  readonly token: string | null
  readonly hostname: string
  /** Whether certificates come from a CA. */
  readonly isOrdering: boolean
  /** That nobody can verify the certificate, or that keys go in the clear, and what to do about it, where that is so. */
  readonly findings: readonly Finding[]
}

async function makeFirst(app: App, mailboxName: string): Promise<Made> {
  const { account_domain: domain, hostname } = app.config
  const { rows } = await listInboxes(
    app,
    operator,
    { address: `${mailboxName}@${domain}` },
    { limit: 1, offset: 0 },
  )
  const inbox = rows[0] ?? (await createInbox(app, operator, { mailboxName }))
  const hasKey = (await listAllKeys(app, 1)).length > 0
  const token = hasKey ? null : (await createKey(app, operator, { account: true }, 'first key')).token
  const records = await recordsToPublish(app, await lookAtDomain(app, domain))
  const isOrdering = app.config.acme.directory !== undefined
  return {
    records,
    inbox: inbox.address,
    token,
    hostname,
    isOrdering,
    findings: [...selfSignedFindings(app.config), ...withoutTlsFindings(app.config)],
  }
}

function tell(
  path: string,
  head: string,
  { records, inbox, token, hostname, isOrdering, findings }: Made,
): string {
  const forms = records.map(record => {
    const { type, name, value, priority } = record
    const caution = cautionOf(record)
    return [
      ...(caution === undefined ? [] : [`  first     ${caution}`]),
      `  type      ${type}`,
      `  name      ${name}`,
      `  value     ${value}`,
      ...(priority === null ? [] : [`  priority  ${priority}`]),
    ].join('\n')
  })
  const ctl = path === systemConfigPath ? 'mailboxctl' : `mailboxctl --config ${shellWord(path)}`
  return `${head}
inbox   ${inbox}
key     ${token ?? `there is one already; ${ctl} key create makes another`}${token ? '  (shown this once)' : ''}

Publish these records, as lines of a zone file:

${zoneToPublish(records)}

or each in a form of your DNS provider:

${forms.join('\n\n')}

The PTR of the machine's address ("reverse DNS", set by whoever gave you the address) must be ${hostname}.${isOrdering ? `\nThe CA finds this machine by the A record of ${hostname}: until it is there the first order of a certificate fails, and it is made again as\nsoon as it is (${ctl} tls list).` : ''}
Then: ${ctl} dns check --wait (send nothing before it is well: large providers refuse it)${findings.length > 0 ? `\n\n${tellFindings(findings)}` : ''}`
}
