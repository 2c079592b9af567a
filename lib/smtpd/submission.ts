import type { SMTPServerAuthentication, SMTPServerSession } from 'smtp-server'
import { sendRecipients } from '../base/lengths.ts'
import { Reply } from '../base/reply.ts'
import type { Receiver } from '../core/inbound/receiver.ts'
import { openIntake } from '../core/mailbox/raws.ts'
import { noticeWords } from '../core/outbound/notice-request.ts'
import type { Submitter } from '../core/submission/credentials.ts'
import type { SubmissionDoor } from '../core/submission/door.ts'
import type { SubmittedRecipient } from '../core/submission/submit.ts'
import { baseAddress, normaliseAddress } from '../mail/address/address.ts'
import { protocolOf, takeBytes } from './data.ts'
import { checkMail, checkRcpt, parameter } from './mail.ts'
import type { Session } from './session.ts'
import type { Steps } from './steps.ts'

/** The text of a key, and of an address, that is looked up. */
const tokenLength = 200
const addressLength = 320
/** Characters of ENVID (RFC 3461 §4.4). */
const envelopeIdLength = 100
/** Characters of ORCPT (RFC 3461 §4.2). */
const originalRecipientLength = 500

const wrongMailFrom = (address: string) =>
  new Reply(550, '5.7.1', `MAIL FROM must be <${address}>, which you authenticated as, or <>`)

/** Asks who it is. @throws Reply 535 5.7.8, 421 4.7.0 */
export async function authenticate(
  door: SubmissionDoor,
  session: Session,
  given: SMTPServerAuthentication,
): Promise<Submitter> {
  const { authzid = '' } = given
  // The library takes the authorization identity in place of an authentication identity that is missing (RFC 4616 §2).
  const user = (given.method === 'PLAIN' ? given.authcid : given.username) ?? ''
  const password = given.password ?? ''
  // RFC 4616 §2: to act for another than oneself is not offered.
  const isOther = authzid !== '' && normaliseAddress(authzid) !== normaliseAddress(user)
  const isShort = password.length <= tokenLength && user.length <= addressLength
  const { remoteAddress } = session
  if (isOther || user === '' || !isShort) return door.authenticate({ user: '', password: '', remoteAddress })
  return door.authenticate({ user, password, remoteAddress })
}

export interface SubmissionParts {
  readonly receiver: Receiver
  readonly submission: SubmissionDoor
}

/** Mail of who has a key, to be sent: the answer to the message comes when it is on the disk, with its id. */
export function submissionSteps({ receiver, submission }: SubmissionParts): Steps {
  return {
    async mail(session, address, smtp) {
      checkMail(address, smtp, true)
      requireShort(parameter(address, 'ENVID'), envelopeIdLength)
      requireOwnPath(address.address, requireSubmitter(session))
      receiver.requireRoom()
    },
    async rcpt(session, address, smtp) {
      checkRcpt(address, smtp, true)
      requireShort(parameter(address, 'ORCPT'), originalRecipientLength)
      requireOther(address.address, requireSubmitter(session), smtp.envelope.rcptTo.length)
    },
    async data(session, stream, smtp) {
      const submitter = requireSubmitter(session)
      const intake = openIntake(receiver)
      try {
        const content = await takeBytes(receiver, session, intake, stream)
        const recipients = recipientsOf(smtp)
        const id = await submission.submit({ submitter, recipients, content, protocol: protocolOf(smtp) })
        session.log.info({ messageId: id, keyId: submitter.keyId }, 'message submitted')
        return `2.6.0 Queued as ${id}`
      } finally {
        await intake.discard()
      }
    },
  }
}

/** With what is to be told of each (RFC 3461 §4): nothing to the null path, whatever was asked. */
function recipientsOf({ envelope }: SMTPServerSession): SubmittedRecipient[] {
  const { mailFrom, rcptTo, dsn } = envelope
  const isNull = mailFrom === false || mailFrom.address === ''
  return rcptTo.map(({ address, dsn: asked }) => ({
    rcptTo: address,
    notice: isNull
      ? null
      : {
          notify: asked?.notify ? noticeWords.filter(word => asked.notify!.includes(word)) : null,
          originalRecipient: asked?.orcpt ?? null,
          envelopeId: dsn?.envid ?? null,
          returned: dsn?.ret === 'FULL' || dsn?.ret === 'HDRS' ? dsn.ret : null,
          isDelayTold: false,
        },
  }))
}

/** @throws Reply 501 5.5.4 */
function requireShort(value: unknown, length: number): void {
  if (typeof value === 'string' && value.length > length)
    throw new Reply(501, '5.5.4', `A parameter has more than ${length} characters`)
}

/** The library lets nobody else come so far. */
function requireSubmitter({ submitter }: Session): Submitter {
  if (!submitter) throw new Reply(530, '5.7.0', 'Authenticate first')
  return submitter
}

/**
 * Whether the reverse-path is one that the submitter may give: its own, with a tag or without, or the null one, which
 * asks for no notices (RFC 6409 §6.1). On the wire each delivery has one of ours.
 * @throws Reply 550 5.7.1
 */
function requireOwnPath(mailFrom: string, { address }: Submitter): void {
  if (mailFrom === '') return
  const own = normaliseAddress(mailFrom)
  if (own === undefined || (own !== address && baseAddress(own) !== address)) throw wrongMailFrom(address)
}

/** @throws Reply 550 5.7.1 for the submitter itself, 452 4.5.3 for one recipient too many */
function requireOther(rcptTo: string, { address }: Submitter, count: number): void {
  const normal = normaliseAddress(rcptTo)
  if (normal === undefined) throw new Reply(553, '5.1.3', 'That is not an address; it needs its domain')
  if (baseAddress(normal) === address)
    throw new Reply(550, '5.7.1', "An inbox can't send to itself; take its address out")
  if (count >= sendRecipients)
    throw new Reply(452, '4.5.3', 'Too many recipients; send to the others in another transaction')
}
