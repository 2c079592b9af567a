import type { Command } from 'commander'
import { isMachineFault, StorageUnreachable, tellSystemFault } from '../base/faults.ts'
import { findForbidden, forbiddenOf } from '../base/file-permissions.ts'
import { systemClock } from '../base/time.ts'

import type { Config } from '../config/load.ts'
import { SecretKeyFault, secretKeyPath } from '../core/app/secret-key.ts'
import { findForbiddenFile } from '../core/data-access.ts'
import { checkDatabase } from '../core/doctor/database.ts'
import { examine, examineWithoutRows } from '../core/doctor/doctor.ts'
import { someMailServer } from '../core/doctor/doors.ts'
import { checkRaws } from '../core/doctor/raws.ts'
import { checkServer } from '../core/doctor/server.ts'
import { type Finding, finding } from '../core/domains/diagnosis.ts'
import { databaseOf, databasePath } from '../core/open-rows.ts'
import { readRunning } from '../core/running.ts'
import { acmeFindings } from './acme-order.ts'
import type { Ctl } from './ctl.ts'
import { failFor, tellFindings, worstFirst } from './findings.ts'
import { becomeDaemonUser, configSource, findConfig, requireInstallation } from './installation.ts'
import { notRunning, takenPorts } from './not-running.ts'
import { serverFindings } from './server-findings.ts'
import { commandOf } from './words.ts'

/** What the rest can not be asked beside. */
const unasked = [
  'database_damaged',
  'database_not_checked',
  'database_unreachable',
  'database_full',
  'raws_missing',
]

interface Options {
  readonly deep?: boolean
  readonly reach: string
}

export function addDoctorCommand(program: Command, ctl: Ctl): void {
  commandOf(program, 'doctor')
    .option('--deep', 'read all of the database, however long that takes')
    .option('--reach <host>', 'whose port 25 is tried, to see whether mail can leave', someMailServer)
    .action(async ({ deep, reach }: Options) => {
      const config = await findConfig(ctl.installation())
      await requireInstallation(ctl.installation(), config)
      // As root, who sees whose they are, and whether somebody holds the lock of the daemon: where that is not for this user, it is told below.
      const running = await readRunning(config.data_dir).catch(() => undefined)
      const stopped = running?.isUp === false ? [notRunning(ctl.installation(), config)] : []
      const taken = running?.isUp === false ? takenPorts(ctl.installation(), config) : []
      becomeDaemonUser(config.data_dir, configSource(ctl.installation()))
      const before = [
        ...taken,
        ...(await serverFindings(config)),
        ...(await dataFindings(config, deep === true)),
      ]
      // What is damaged can not be asked.
      const isDamaged = before.some(({ code }) => unasked.includes(code))
      const isForbidden = before.some(({ code }) => code === 'database_forbidden')
      const hindrances: Finding[] = []
      const examined =
        isDamaged || isForbidden
          ? undefined
          : await ctl
              .withApp(app => examine(app, reach))
              .catch((error: unknown) => {
                hindrances.push(hindranceOf(error, config.data_dir))
                return undefined
              })
      const isWithoutRows = isForbidden || hindrances.length > 0
      const rest = isWithoutRows
        ? await examineWithoutRows(config, systemClock, running ?? { isUp: false, last: undefined })
        : (examined?.findings ?? [])
      const findings = worstFirst([...before, ...hindrances, ...(isDamaged ? [] : stopped), ...rest])
      const domain = config.account_domain
      const status = examined?.domain.status ?? null
      const well = `${domain} is ${status}, and nothing is wrong`
      ctl.output().say({ domain, status, findings }, () => tellFindings(findings) || well)
      failFor(findings)
    })
}

async function dataFindings(config: Config, isDeep: boolean): Promise<Finding[]> {
  const { data_dir: dataDir, database } = config
  const forbidden = findForbidden(dataDir, 'read', dataDir) ?? findForbiddenFile(dataDir)
  if (forbidden)
    return [finding('error', 'database_forbidden', forbidden.path, forbidden.message, forbidden.paste)]
  return [
    ...(await acmeFindings(config)),
    ...(database === undefined
      ? await checkDatabase(databasePath(dataDir), isDeep)
      : await serverStateFindings(config)),
    ...(await checkRaws(dataDir)),
  ]
}

/** Of a server, and what keeps its password from being read. */
async function serverStateFindings(config: Config): Promise<Finding[]> {
  let location: string
  try {
    location = await databaseOf(config)
  } catch (error) {
    const told = tellSystemFault(error)
    if (told === undefined) throw error
    const forbidden = forbiddenOf(error, config.data_dir)
    const file = config.postgres.password_file ?? config.data_dir
    if (!forbidden) return [finding('warning', 'database_not_checked', file, `not checked: ${told}`)]
    return [finding('error', 'database_forbidden', file, forbidden.message, forbidden.paste)]
  }
  return checkServer(location, systemClock)
}

/** What keeps the rows from being asked: the key of their secrets, or the machine. @throws what it is, when it is something else */
function hindranceOf(error: unknown, dataDir: string): Finding {
  if (error instanceof SecretKeyFault)
    return finding('error', 'secret_key', secretKeyPath(dataDir), error.message)
  // It was there a moment ago, or its clock is not ours.
  if (error instanceof StorageUnreachable)
    return finding('error', 'database_not_checked', 'database', `not checked: ${error.message}`)
  const told = isMachineFault(error) ? tellSystemFault(error) : undefined
  if (told === undefined) throw error
  return finding('warning', 'database_not_checked', databasePath(dataDir), `not checked: ${told}`)
}
