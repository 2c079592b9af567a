import { tellPortHolder } from '../base/port-holder.ts'
import { parseEndpoint } from '../config/endpoint.ts'
import type { Config } from '../config/load.ts'
import { type Finding, finding } from '../core/domains/diagnosis.ts'

/**
 * The ports that another program has, which keeps mailboxd from its start. Whose they are root alone may see, and those that systemd
 * holds are held for mailboxd.
 */
export function takenPorts({ smtp, submission, http }: Config): Finding[] {
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
    if (holder === '' || holder.startsWith(' by systemd ')) return []
    const message = `another program listens there${holder}, and mailboxd can not start beside it: end that program, or give mailboxd another port (${setting})`
    return [finding('error', 'port_taken', listens, message, `ss -ltnp 'sport = :${port}'`)]
  })
}
