import type { SMTPServerAddress } from 'smtp-server'
import { reversedAddress } from '../base/network.ts'
import { Reply } from '../base/reply.ts'
import { requireKnownSender } from '../core/inbound/greylist.ts'
import type { Receiver } from '../core/inbound/receiver.ts'
import { isRolePath, type Recipient, resolveRecipient } from '../core/inbound/recipient.ts'
import { acceptData } from './data.ts'
import { checkMail, checkRcpt, parameter } from './mail.ts'
import type { Session } from './session.ts'
import type { Steps } from './steps.ts'

/** Unknown recipients of an SMTP session (421 above it). */
const smtpUnknownRecipients = 25

/** What a peer may bring in a minute, as `Shares` counts it. */
export interface Rates {
  takeMessage(address: string, sizeBytes: number): Promise<void> | void
  takeBytes(address: string, count: number): Promise<void> | void
}

export interface IncomingParts {
  readonly receiver: Receiver
  readonly rates: Rates
}

/** Mail of strangers for the inboxes here: commands are checked, what they mean is core's. */
export function incomingSteps({ receiver, rates }: IncomingParts): Steps {
  const { config, main } = receiver

  async function askLists({ remoteAddress, isTrusted }: Session): Promise<string | undefined> {
    if (isTrusted || config.dns_lists.zones.length === 0) return undefined
    return main.findDnsList(remoteAddress)
  }

  /** @throws Reply 550 5.7.1 when a DNS list has the peer, except to those whom it may ask why */
  async function requireUnlisted(session: Session, rcptTo: string): Promise<void> {
    const zone = await session.dnsList
    if (zone === undefined || config.dns_lists.action !== 'refuse' || isRolePath(rcptTo)) return
    throw new Reply(550, '5.7.1', `Your address ${session.remoteAddress} is listed by ${zone}`)
  }

  /** @throws Reply as `resolveRecipient`; 421 when this is one guess too many */
  async function findRecipient(session: Session, rcptTo: string, sizeBytes: number): Promise<Recipient> {
    try {
      return await resolveRecipient(receiver, rcptTo, sizeBytes, session.recipients)
    } catch (error) {
      const isUnknown = error instanceof Reply && error.enhanced === '5.1.1'
      if (!isUnknown || ++session.unknownRecipients <= smtpUnknownRecipients) throw error
      throw new Reply(421, '4.7.0', 'Too many unknown recipients')
    }
  }

  /** RFC 5321 §4.5.1, §4.1.3: postmaster at the address that the peer has reached us by is postmaster here, whoever has the address. */
  function ownPostmaster(rcptTo: string, localAddress: string): string {
    const literal = /^postmaster@\[(?:IPv6:)?([0-9a-f.:]+)\]$/i.exec(rcptTo)?.[1]
    const asked = literal === undefined ? undefined : reversedAddress(literal)?.labels
    return asked !== undefined && asked === reversedAddress(localAddress)?.labels ? 'postmaster' : rcptTo
  }

  return {
    async mail(session, address, smtp) {
      checkMail(address, smtp)
      receiver.requireRoom()
      if (!session.isTrusted) await rates.takeMessage(session.remoteAddress, announcedSize(address))
      session.dnsList ??= askLists(session)
      session.recipients = []
    },
    async rcpt(session, given, smtp) {
      const address = { ...given, address: ownPostmaster(given.address, smtp.localAddress) }
      checkRcpt(address, smtp)
      await requireUnlisted(session, address.address)
      const { mailFrom } = smtp.envelope
      const announced = mailFrom === false ? 0 : announcedSize(mailFrom, usualBytes)
      const recipient = await findRecipient(session, address.address, announced)
      if (!session.isTrusted) {
        const sender = mailFrom === false ? '' : mailFrom.address
        const stranger = { remoteAddress: session.remoteAddress, mailFrom: sender, recipient }
        await requireKnownSender(receiver, stranger, main.noteStranger)
      }
      // The library counts a path that is said again once, and so do we: a peer may say it for ever.
      if (!session.recipients.some(({ rcptTo }) => rcptTo.toLowerCase() === recipient.rcptTo.toLowerCase())) {
        session.recipients.push(recipient)
      }
    },
    async data(session, stream, smtp) {
      const { mailFrom } = smtp.envelope
      const announced = mailFrom === false ? 0 : announcedSize(mailFrom)
      await acceptData(receiver, session, smtp, stream, sizeBytes => {
        if (!session.isTrusted && sizeBytes > announced) {
          return rates.takeBytes(session.remoteAddress, sizeBytes - announced)
        }
      })
      return undefined
    },
  }
}

/** A message counts as so many bytes if MAIL announces no size; most are as small, and then they need not be counted again. */
const unannouncedBytes = 4096

/** A mailbox has to have room for so much if MAIL announces no size. */
const usualBytes = 64 * 1024

/** The size that MAIL announces (RFC 1870), or `otherwise`. */
function announcedSize(address: SMTPServerAddress, otherwise = unannouncedBytes): number {
  return Number(parameter(address, 'SIZE')) || otherwise
}
