import { limits } from '../base/limits.ts'
import { Problem } from '../base/problem.ts'
import { baseAddress, normaliseAddress } from '../mail/address.ts'
import type { SendRequest } from '../model/send.ts'

/** Whom a send goes to; every address lower-case, and each recipient once in `all`. */
export interface Addressees {
  readonly to: string
  readonly cc: readonly string[]
  readonly bcc: readonly string[]
  readonly replyTo: string | null
  /** to, cc and bcc in this order: one delivery for each. */
  readonly all: readonly string[]
}

/** @throws Problem `invalid_request` for what is no address or too many; `recipient_is_sender` */
export function readAddressees(request: SendRequest, sender: string): Addressees {
  const to = requireAddress(request.to, '/to')
  const cc = (request.cc ?? []).map((text, index) => requireAddress(text, `/cc/${index}`))
  const bcc = (request.bcc ?? []).map((text, index) => requireAddress(text, `/bcc/${index}`))
  const replyTo = request.replyTo === undefined ? null : requireAddress(request.replyTo, '/replyTo')
  const all = [...new Set([to, ...cc, ...bcc])]
  if (all.length > limits.sendRecipients) {
    const message = `A message goes to at most ${limits.sendRecipients} recipients.`
    throw new Problem('invalid_request', message, { details: [{ path: '', message }] })
  }
  const self = all.find(address => baseAddress(address) === sender)
  if (self !== undefined) {
    throw new Problem('recipient_is_sender', `An inbox can't send to itself (${self}).`, { recipient: self })
  }
  return { to, cc, bcc, replyTo, all }
}

/** The address in lower case. @throws Problem `invalid_request` that names `path` */
export function requireAddress(text: string, path: string): string {
  const address = normaliseAddress(text)
  if (address !== undefined) return address
  const message = `${path} must be a bare email address such as ann@example.com.`
  throw new Problem('invalid_request', message, { details: [{ path, message }] })
}
