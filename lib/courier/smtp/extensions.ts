import type SMTPConnection from 'nodemailer/lib/smtp-connection'

/** The keywords of an EHLO reply in upper case, each with its parameters (RFC 5321 §4.1.1.1); none after HELO. */
export function readExtensions(ehloReply: string): ReadonlyMap<string, string> {
  const extensions = new Map<string, string>()
  for (const line of ehloReply.split(/\r?\n/).slice(1)) {
    const [, keyword, parameters] =
      /^\d{3}[ -]([A-Za-z0-9][A-Za-z0-9-]*)(?:[ \t=]+(.*))?$/s.exec(line.trim()) ?? []
    if (keyword !== undefined) extensions.set(keyword.toUpperCase(), parameters?.trim() ?? '')
  }
  return extensions
}

/** What a transaction asks of the peer. */
export interface Demands {
  readonly mailFrom: string
  readonly rcptTo: string
  readonly sizeBytes: number
  readonly is8Bit?: boolean
  readonly isUtf8?: boolean
}

/** Why a peer with these extensions can't take the message: found before MAIL, so nothing was sent for nothing. */
export function findObjection(
  demands: Demands,
  extensions: ReadonlyMap<string, string>,
): { readonly enhanced: string; readonly text: string } | undefined {
  // RFC 1870 §4: no parameter and 0 both mean that no limit is declared.
  const largest = Number(/^\d+/.exec(extensions.get('SIZE') ?? '')?.[0] ?? 0)
  if (largest > 0 && demands.sizeBytes > largest)
    return {
      enhanced: '5.3.4',
      text: `the message has ${demands.sizeBytes} bytes, the host takes ${largest}`,
    }
  // RFC 6531 §3.2: an address must not be changed, so what the host can't read can't be sent to it.
  if (/[^\x00-\x7f]/.test(demands.mailFrom + demands.rcptTo) && !extensions.has('SMTPUTF8'))
    return { enhanced: '5.6.7', text: 'the address is internationalised and the host does not know SMTPUTF8' }
  // RFC 6531 §3.2, RFC 6532: nor may its header be.
  if (demands.isUtf8 === true && !extensions.has('SMTPUTF8'))
    return { enhanced: '5.6.7', text: 'the header has UTF-8 and the host does not know SMTPUTF8' }
  // RFC 6152 §3: re-encoding here would break the signature.
  if (demands.is8Bit === true && !extensions.has('8BITMIME'))
    return { enhanced: '5.6.3', text: 'the message has 8-bit content and the host does not take 8BITMIME' }
  return undefined
}

/** The parameters of RFC 3461, decoded; null for what is not said. */
export interface NoticeParameters {
  readonly notify: readonly string[] | null
  /** `rfc822;bob@example.net` */
  readonly originalRecipient: string | null
  readonly envelopeId: string | null
  readonly returned: 'FULL' | 'HDRS' | null
}

/** Adds a parameter to the next command that is sent. */
export function addToNextCommand(connection: SMTPConnection, parameter: string): void {
  const commands = connection as unknown as { _sendCommand: (line: string) => void }
  const { _sendCommand: send } = commands
  commands._sendCommand = line => {
    commands._sendCommand = send
    send.call(connection, `${line}${parameter}`)
  }
}

/** The parameters of RFC 3461 as Nodemailer takes them. */
export function noticeParameters({ notify, originalRecipient, envelopeId, returned }: NoticeParameters) {
  return {
    ...(notify && { notify: [...notify] }),
    ...(originalRecipient !== null && { orcpt: originalRecipient }),
    ...(envelopeId !== null && { envid: envelopeId }),
    ...(returned !== null && { ret: returned }),
  }
}
