import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startExim } from '../../test/support/exim.ts'
import type { MailServer, MailServerOptions } from '../../test/support/mail-server.ts'
import { startOpenSmtpd } from '../../test/support/opensmtpd.ts'
import { freePort } from '../../test/support/ports.ts'
import { startPostfix } from '../../test/support/postfix.ts'
import { startChasquid } from './chasquid.ts'
import { startHaraka } from './haraka.ts'
import type { Subject } from './subject.ts'

/** What is measured of a mail server of others. */
export type PeerServer = Pick<MailServer, 'port' | 'pid' | 'count' | 'stop'>

/** Mail servers of others: fsync in the queue at acceptance, and with those that come from Debian's hands a Maildir in the end. */
export const peers: Readonly<Record<string, (options: MailServerOptions) => Promise<PeerServer>>> = {
  postfix: startPostfix,
  // It takes 20 connections unless told: as many as come, and those that it is done with stand a moment longer.
  exim: options => startExim({ ...options, settings: { smtp_accept_max: '200' } }),
  // It takes 100 messages of a session unless told.
  opensmtpd: options => startOpenSmtpd({ ...options, messagesPerSession: 10_000 }),
  chasquid: startChasquid,
  haraka: startHaraka,
}

/** @param name one of `peers` */
export async function startPeerSubject(name: string): Promise<Subject> {
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
  const recipient = `bench@${name}.test`
  const address = '127.0.0.1'
  const peer = await peers[name]!({
    dir,
    hostname: `mx.${name}.test`,
    address,
    port: await freePort(address),
    mailboxes: [recipient],
  })
  return {
    address,
    port: peer.port,
    recipient,
    pid: peer.pid,
    delivered: () => peer.count(recipient),
    async stop() {
      await peer.stop()
      rmSync(dir, { recursive: true })
    },
  }
}
