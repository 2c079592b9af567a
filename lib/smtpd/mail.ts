import type { SMTPServerAddress, SMTPServerSession } from 'smtp-server'
import { Reply } from '../base/reply.ts'
import { parseAddress } from '../mail/address/address.ts'

/** The parameters of the extensions that we advertise (RFC 1870, RFC 6152, RFC 6531). */
const known = ['SIZE', 'BODY', 'SMTPUTF8']
/** Those that a client may give beside these where it has authenticated (RFC 4954 §5, RFC 3461 §4.3). */
const knownOfSubmitters = [...known, 'AUTH', 'RET', 'ENVID']
const recipientsOfSubmitters = ['NOTIFY', 'ORCPT']

/** What stands behind a parameter of MAIL or RCPT; true where nothing does, undefined without it. */
export function parameter({ args }: SMTPServerAddress, name: string): string | true | undefined {
  return args ? args[name] : undefined
}

/**
 * May this transaction begin? The null reverse-path may (RFC 5321 §4.5.5).
 * @throws Reply 503 before HELO, 555 for parameters of extensions that we do not have, 553 for what is no address
 */
export function checkMail(
  address: SMTPServerAddress,
  session: SMTPServerSession,
  isSubmission = false,
): void {
  if (!session.hostNameAppearsAs) throw new Reply(503, '5.5.1', 'Say HELO or EHLO first')
  const { args } = address
  const taken = isSubmission ? knownOfSubmitters : known
  const unknown = Object.keys(args || {}).find(name => !taken.includes(name))
  if (unknown) throw new Reply(555, '5.5.4', 'That MAIL parameter is not supported')
  const body = parameter(address, 'BODY')
  if (body && body !== true && !['7BIT', '8BITMIME'].includes(body.toUpperCase())) {
    throw new Reply(555, '5.5.4', 'That BODY is not supported')
  }
  if (address.address !== '') requireAddress(address.address, args && 'SMTPUTF8' in args, '5.1.7')
}

/**
 * Is this a forward-path that could be ours? Which inbox it leads to is core's to say.
 * @throws Reply 555, 553
 */
export function checkRcpt(
  address: SMTPServerAddress,
  session: SMTPServerSession,
  isSubmission = false,
): void {
  const taken = isSubmission ? recipientsOfSubmitters : []
  if (Object.keys(address.args || {}).some(name => !taken.includes(name))) {
    throw new Reply(555, '5.5.4', 'That RCPT parameter is not supported')
  }
  if (address.address.toLowerCase() === 'postmaster') return
  const { mailFrom } = session.envelope
  const isUtf8 = mailFrom !== false && mailFrom.args !== false && 'SMTPUTF8' in mailFrom.args
  requireAddress(address.address, isUtf8, '5.1.3')
}

function requireAddress(text: string, isUtf8: boolean, enhanced: string): void {
  if (!parseAddress(text)) throw new Reply(553, enhanced, 'That is not an address')
  // RFC 6531 §3.3: only a peer that says SMTPUTF8 may use such an address.
  if (!isUtf8 && /[^\x00-\x7f]/.test(text)) throw new Reply(553, '5.6.7', 'That address needs SMTPUTF8')
}
