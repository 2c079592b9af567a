import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Peer, without } from '../test/support/peers.ts'
import { freePort } from '../test/support/ports.ts'
import { type SmtpSink, startSmtpSink } from '../test/support/smtp-sink.ts'
import { until } from '../test/support/until.ts'
import { source } from './inbound.ts'
import { filledWith } from './inbound-row.ts'
import { measureRelayed, measureSends, type OutboundFigures } from './outbound.ts'
import { residentBytes } from './process-figures.ts'
import { startMailboxdSubject, withoutMailboxd } from './subject/mailboxd.ts'
import { relayedDomain, startRelayingPostfix } from './subject/relaying-postfix.ts'

export interface OutboundRow {
  readonly outbound: OutboundFigures
  /** What it costs mailboxd to stand there. */
  readonly idle?: { readonly startMs: number; readonly rssBytes: number }
}

/** Whose way out can be measured: Postfix passes on what smtp-source gives it, as it is and signed by OpenDKIM. */
export const outboundSubjects = ['postfix', 'postfix with OpenDKIM', 'mailboxd'] as const
export type OutboundSubject = (typeof outboundSubjects)[number]

const settleMs = 2000

/** Why a row of this subject cannot be measured here, or false. */
export function withoutOutbound(name: OutboundSubject): string | false {
  const signer: Peer[] = name === 'postfix with OpenDKIM' ? ['opendkim'] : []
  return without('smtp-sink', 'smtp-source', ...signer) || (name === 'mailboxd' && withoutMailboxd())
}

/**
 * Starts it in front of a sink, measures `messages` on their way there, and ends it.
 * @param stored how many messages mailboxd has before it starts
 */
export async function measureOutboundOf(
  name: OutboundSubject,
  messages: number,
  stored: number,
): Promise<OutboundRow> {
  const address = '127.0.0.2'
  const sink = await startSmtpSink(address, await freePort(address))
  try {
    if (name === 'mailboxd') return await measureOwn(sink, messages, stored)
    return await measureRelay(sink, messages, name === 'postfix with OpenDKIM')
  } finally {
    await sink.stop()
  }
}

async function measureOwn(sink: SmtpSink, messages: number, stored: number): Promise<OutboundRow> {
  const mailboxd = await startMailboxdSubject(sink.port, filledWith(stored))
  try {
    await pause(settleMs)
    const idle = { startMs: mailboxd.startMs, rssBytes: residentBytes(mailboxd.pid) }
    return { idle, outbound: await measureSends(mailboxd, sink, messages) }
  } finally {
    await mailboxd.stop()
  }
}

async function measureRelay(sink: SmtpSink, messages: number, isSigning: boolean): Promise<OutboundRow> {
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
  chmodSync(dir, 0o777) // smtp-sink runs as nobody
  const address = '127.0.0.3'
  const keeping = await startSmtpSink(address, await freePort(address), ['-d', join(dir, 'm')])
  try {
    const relay = await startRelayingPostfix({
      isSigning,
      routes: {
        'sink.test': `${sink.address}:${sink.port}`,
        'kept.test': `${keeping.address}:${keeping.port}`,
      },
    })
    try {
      await source({ ...relay, recipient: 'bench@kept.test' }, 1, 1024, [], `bench@${relayedDomain}`)
      await keeping.taken(1)
      const [kept] = await until('the message that is kept', () => {
        const texts = readdirSync(dir).map(file => readFileSync(join(dir, file), 'latin1'))
        return texts.length > 0 && texts
      })
      if (/^DKIM-Signature:/m.test(kept!) !== isSigning)
        throw new Error(`${isSigning ? 'not signed' : 'signed'}:\n${kept}`)
      return { outbound: await measureRelayed(relay, sink, messages) }
    } finally {
      await relay.stop()
    }
  } finally {
    await keeping.stop()
    rmSync(dir, { recursive: true })
  }
}
