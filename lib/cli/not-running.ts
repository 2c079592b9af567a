import { tellPortHolder } from '../base/port-holder.ts'
import { shellWord } from '../base/text.ts'
import { parseEndpoint } from '../config/endpoint.ts'
import type { Config } from '../config/load.ts'
import { type Finding, finding } from '../core/domains/diagnosis.ts'
import { asOwner, configSource, type Installation, systemConfigPath } from './installation.ts'

/** That mailboxd does not run, with what starts it. */
export function notRunning(installation: Installation, { data_dir: dataDir }: Config): Finding {
  const message = 'mailboxd does not run on this data: no mail comes or goes'
  const start = startCommand(configSource(installation), dataDir)
  return finding('error', 'not_running', dataDir, message, start)
}

/** The service of systemd is for the configuration of the system alone. */
function startCommand(source: string, dataDir: string): string {
  if (source === systemConfigPath) return 'systemctl start mailboxd'
  const command =
    source === 'local mode'
      ? `mailboxd --data ${shellWord(dataDir)}`
      : `mailboxd --config ${shellWord(source)}`
  return asOwner(dataDir, command) ?? command
}

/**
 * The ports that another program has, which keeps mailboxd from its start; in local mode it takes others. Whose they are root alone may see,
 * and those that systemd holds are held for mailboxd.
 */
export function takenPorts(installation: Installation, { smtp, submission, http }: Config): Finding[] {
  if (configSource(installation) === 'local mode') return []
  const settings: Record<string, readonly string[]> = {
    'smtp.listen': smtp.listen,
    'submission.listen': submission.listen,
    'submission.listen_tls': submission.listen_tls,
    'http.listen': http.listen,
  }
  const all = Object.entries(settings).flatMap(([setting, addresses]) =>
    addresses.map(listens => ({ setting, listens })),
  )
  return all.flatMap(({ setting, listens }) => {
    const { port } = parseEndpoint(listens)
    const holder = tellPortHolder(port)
    if (holder === '' || holder.startsWith('systemd ')) return []
    const message = `${holder} listens there, and mailboxd can not start beside it: end that program, or give mailboxd another port (${setting})`
    return [finding('error', 'port_taken', listens, message, `ss -ltnp 'sport = :${port}'`)]
  })
}
