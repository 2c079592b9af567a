import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getPeer } from '../../test/support/peers.ts'

/** Programs that Postfix asks about each message, started in front of it where it runs. */
export interface Milters {
  /** For `smtpd_milters`. */
  readonly sockets: string
  /** Commands of the shell that start them and wait until they listen. */
  readonly start: string
}

const options = {
  opendkim: {
    config: '-x',
    lines:
      'Syslog yes\nSyslogSuccess yes\nCanonicalization relaxed/simple\nOversignHeaders From\nUserID opendkim\nUMask 000\n',
  },
  opendmarc: {
    config: '-c',
    lines:
      'PublicSuffixList /usr/share/publicsuffix/public_suffix_list.dat\nSyslog true\nUMask 0000\nUserID opendmarc\n',
  },
}

/**
 * OpenDKIM and OpenDMARC with Debian's settings and further lines.
 * @param dir a directory that is made for their configuration and sockets
 * @param wanted in the order in which Postfix asks them
 */
export function prepareMilters(
  dir: string,
  wanted: Readonly<Partial<Record<keyof typeof options, string>>>,
): Milters {
  mkdirSync(dir)
  chmodSync(dir, 0o777) // they run as users of their own
  const started = Object.entries(wanted).map(([name, further]) => {
    const { config, lines } = options[name as keyof typeof options]
    const file = join(dir, `${name}.conf`)
    const socket = join(dir, `${name}.sock`)
    writeFileSync(file, `${lines}Socket local:${socket}\n${further}`)
    // In a shell of its own: Postfix's master panics at the end of a child that it did not start.
    return { socket, command: `(${getPeer(name as keyof typeof options)} -f ${config} ${file} &)` }
  })
  const listen = started.map(({ socket }) => `[ -S ${socket} ]`).join(' && ')
  return {
    sockets: started.map(({ socket }) => `unix:${socket}`).join(' '),
    start: `${started.map(({ command }) => command).join('\n')}\nuntil ${listen}; do sleep 0.05; done`,
  }
}
