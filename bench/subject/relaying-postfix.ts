import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateDkimKey } from '../../lib/mail/compose/dkim.ts'
import { freePort } from '../../test/support/ports.ts'
import { startPostfix } from '../../test/support/postfix.ts'
import { prepareMilters } from './milters.ts'
import type { Subject } from './subject.ts'

export interface RelayingOptions {
  /** Signs with RSA-2048 by OpenDKIM. */
  readonly isSigning: boolean
  /** Where mail goes: domain → `address:port`. */
  readonly routes: Readonly<Record<string, string>>
}

/** Whose mail it signs. */
export const relayedDomain = 'postfix.test'

/** Postfix that passes on what it gets by SMTP, to the routes; `recipient` is at the first of them. */
export async function startRelayingPostfix({ isSigning, routes }: RelayingOptions): Promise<Subject> {
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
  chmodSync(dir, 0o755)
  const signing = isSigning ? await prepareSigning(dir) : {}
  const address = '127.0.0.1'
  const postfix = await startPostfix({
    dir,
    hostname: `mx.${relayedDomain}`,
    address,
    port: await freePort(address),
    mailboxes: [`nobody@${relayedDomain}`],
    routes,
    ...signing,
  })
  return {
    address,
    port: postfix.port,
    recipient: `bench@${Object.keys(routes)[0]}`,
    pid: postfix.pid,
    async stop() {
      await postfix.stop()
      rmSync(dir, { recursive: true })
    },
  }
}

async function prepareSigning(dir: string) {
  const { privateKeyPem } = await generateDkimKey()
  const keyFile = join(dir, 'key')
  writeFileSync(keyFile, privateKeyPem, { mode: 0o600 })
  const milters = prepareMilters(join(dir, 'milters'), {
    opendkim: `Mode s\nDomain ${relayedDomain}\nSelector bench\nKeyFile ${keyFile}\nRequireSafeKeys no\n`,
  })
  return {
    settings: { smtpd_milters: milters.sockets },
    system: { binds: {}, users: [], before: milters.start },
  }
}
