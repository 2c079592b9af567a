import { loadConfig } from '../lib/config/load.ts'
import { databasePath } from '../lib/core/open-rows.ts'
import { type Peer, without } from '../test/support/peers.ts'
import { freePort } from '../test/support/ports.ts'
import { type InboundFigures, measureInbound } from './inbound.ts'
import type { LoadKind } from './load-message.ts'
import { proveAuthentic, type SignedMail, startSignedMail } from './signed-mail.ts'
import { storeMessages } from './stored.ts'
import { withInstallation } from './subject/installation.ts'
import { type MailboxdSettings, startMailboxdSubject, withoutMailboxd } from './subject/mailboxd.ts'
import { peers, startPeerSubject } from './subject/peer.ts'
import { startSmtpServerSubject } from './subject/smtp-server.ts'
import type { Subject } from './subject/subject.ts'
import { startVerifyingPostfix } from './subject/verifying-postfix.ts'

export interface Row {
  readonly messages: number
  readonly bytes: number
  readonly kind: LoadKind
  /** How many messages mailboxd has before it starts, in `storedInboxes`. */
  readonly stored: number
}

export const storedInboxes = 10_000

/** Whom a row can be measured of, mailboxd among them. */
export const inboundSubjects = ['smtp-server', ...Object.keys(peers), 'mailboxd']

/** Why a row of this subject cannot be measured here, or false. */
export function withoutInbound(name: string, kind: LoadKind): string | false {
  const tools: Peer[] = ['smtp-source', ...(kind === 'signed' ? (['unbound'] as const) : [])]
  if (name === 'mailboxd') return without(...tools) || withoutMailboxd()
  if (name === 'smtp-server') return kind !== 'signed' ? without(...tools) : 'it verifies nothing'
  if (kind !== 'signed')
    return name === 'haraka' ? without('smtp-sink', ...tools) : without(name as Peer, ...tools)
  if (name !== 'postfix') return 'Debian has nothing that verifies for it'
  return without('postfix', 'opendkim', 'opendmarc', 'policyd-spf', ...tools)
}

/**
 * Starts a subject of `inboundSubjects`, measures how it takes mail, and ends it.
 * @param mail whose name server runs, for a row of signed mail; without it one of its own is made, and there may be no other
 */
export async function measureInboundOf(name: string, row: Row, mail?: SignedMail): Promise<InboundFigures> {
  if (row.kind !== 'signed') return measureOne(name, row, undefined)
  if (mail) return measureOne(name, row, mail)
  const own = await startSignedMail()
  try {
    return await measureOne(name, row, own)
  } finally {
    await own.nameServer.stop()
  }
}

async function measureOne(name: string, row: Row, signed: SignedMail | undefined): Promise<InboundFigures> {
  const subject = await start(name, row, signed)
  try {
    const prove = signed && proveAuthentic
    return await measureInbound(subject, { ...row, privateKeyPem: signed?.privateKeyPem, prove })
  } finally {
    await subject.stop()
  }
}

async function start(name: string, { stored }: Row, signed: SignedMail | undefined): Promise<Subject> {
  if (name === 'smtp-server') return startSmtpServerSubject()
  if (name !== 'mailboxd')
    return signed ? startVerifyingPostfix(signed.nameServer.address) : startPeerSubject(name)
  const sinkPort = await freePort('127.0.0.2')
  return startMailboxdSubject(sinkPort, { ...filledWith(stored), nameServer: signed?.nameServer.address })
}

/** A data directory that has so many messages in 10,000 inboxes before mailboxd starts. */
export function filledWith(stored: number): MailboxdSettings {
  if (stored === 0) return {}
  return {
    async prepare(path) {
      process.stderr.write(`filling it with ${stored} messages\n`)
      const config = await loadConfig(path)
      await withInstallation(config, async () => {})
      storeMessages(databasePath(config.data_dir), stored, storedInboxes)
    },
  }
}
