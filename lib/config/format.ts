import { isAbsolute } from 'node:path'
import { domainToASCII } from 'node:url'
import { durationFault } from './duration.ts'
import { endpointFault } from './endpoint.ts'
import { ipVersion } from './ip-version.ts'
import { postgresQueryFault } from './postgres-query.ts'

/** A form that the text of a setting must have: its name for people, and what is wrong with a text (with the repair). */
interface Format {
  readonly title: string
  readonly fault: (text: string) => string | undefined
}

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** A domain as settings have it: lower case, in A-labels (RFC 5890 §2.3.2.1), without a final dot. What is none comes back as it is. */
export function writtenDomain(text: string): string {
  // domainToASCII reads the host of a URL: it would drop what follows a slash, and undo percent signs.
  if (/[^A-Za-z0-9.\u{80}-\u{10ffff}-]/u.test(text)) return text
  return domainToASCII(text.replace(/\.$/, '')) || text
}

/** A fully qualified host name in A-label form, as RFC 5321 §2.3.5 asks; lower case, so that it compares by `===`. */
function domainFault(text: string): string | undefined {
  if (ipVersion(text.replace(/^\[(.*)\]$/, '$1')))
    return 'must be a host name, not an IP address: write the name that leads there, such as "mail.example.com"'
  const labels = text.split('.')
  const isName = labels.every(part => label.test(part)) && text.length <= 253
  if (isName && labels.length === 1) return 'must be a full name with its domain, such as "mail.example.com"'
  if (isName && !/^[0-9]+$/.test(labels.at(-1) ?? '')) return undefined
  const repaired = writtenDomain(text)
  if (repaired !== text && domainFault(repaired) === undefined) return `must be written "${repaired}"`
  return 'must be a host name: letters, digits and hyphens, in parts with dots between, such as "mail.example.com"'
}

/** A server that is looked up in DNS and nowhere else, and that proves this name. */
function smarthostFault(text: string): string | undefined {
  const fault = domainFault(text)
  if (fault === undefined || (ipVersion(text) === 0 && text.includes('.'))) return fault
  return 'must be a full name that DNS has an address of, such as "smtp.example.net", and no IP address or "localhost": for a server on this machine give a name of yours whose A record is 127.0.0.1'
}

const userFault = (text: string) =>
  /^[^\x00-\x1f\x7f]{1,255}$/.test(text)
    ? undefined
    : 'must have 1 to 255 characters, none of them a control character'

function domainPatternFault(text: string): string | undefined {
  if (text === '*') return undefined
  const fault = domainFault(text.replace(/^\*\./, ''))
  return fault && `${fault}, or "*.example.com" for all names below one, or "*"`
}

function pathFault(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain a NUL character'
  if (isAbsolute(text)) return undefined
  return 'must be an absolute path, which begins with "/" (neither "~" nor variables are expanded)'
}

/** An address of the API as settings have it: without a slash at the end, its host in A-labels. What is none comes back as it is. */
export function writtenBaseUrl(text: string): string {
  let written = URL.parse(text)?.href
  if (written === undefined) return text
  while (written.endsWith('/')) written = written.slice(0, -1)
  return written
}

function baseUrlFault(text: string): string | undefined {
  const url = URL.parse(text)
  if (!/^https?:\/\//i.test(text)) {
    // With a port it is hardly what the world reaches.
    const repaired = `${/:\d+$/.test(text) ? 'http' : 'https'}://${text}`
    const example = baseUrlFault(repaired) === undefined ? repaired : 'https://mail.example.com'
    return `must begin with "https://" or "http://", such as "${example}"`
  }
  if (!url) return 'must be an address such as "https://mail.example.com"'
  if (url.username || url.password) return 'must not contain a user name or a password'
  if (/[?#\s]/.test(text)) return 'must not contain "?", "#" or a space'
  const repaired = writtenBaseUrl(text)
  return repaired === text ? undefined : `must be written "${repaired}"`
}

/** A bucket by the rules of Amazon S3, which those of others let pass, and what keys begin with. */
export function readBucketUrl(text: string): { bucket: string; beginning: string } | undefined {
  const [, bucket, beginning = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9_./-]{1,200}))?$/.exec(text) ?? []
  const isPath = !beginning.split('/').some(part => part === '' || part === '.' || part === '..')
  return bucket === undefined || (beginning !== '' && !isPath) ? undefined : { bucket, beginning }
}

function bucketFault(text: string): string | undefined {
  if (readBucketUrl(text)) return undefined
  const [, name] = /^s3:\/\/([a-z0-9.-]{1,2})(?:\/|$)/.exec(text) ?? []
  if (name !== undefined)
    return `has a name of a bucket that is too short (${name}): it has 3 to 63 characters`
  return 'must be "s3://" and the name of a bucket, and after a slash what keys begin with, if anything, such as "s3://mail-of-example/large"'
}

function postgresFault(text: string): string | undefined {
  const [, user, server = ''] =
    /^postgres(?:ql)?:\/\/(?:([^@/?#\s]*)@)?([^@/?#\s]*)\/[^@/?#\s]+(?:\?[^#\s]*)?$/.exec(text) ?? []
  if (user?.includes(':') || /[?&]password=/.test(text))
    return 'must not contain a password: name the file that has it with postgres.password_file'
  if (server.includes(','))
    return 'must name one server: Patroni with HAProxy, a pooler or a managed service leads to the primary (docs/operators/postgres.md)'
  if (user) return postgresQueryFault(text.split('?')[1] ?? '')
  return 'must be "postgres://user@server/database", such as "postgres://mailboxd@db.example.com/mailboxd"'
}

function networkFault(text: string): string | undefined {
  const [address = '', prefix, ...rest] = text.split('/')
  const bits = { 0: 0, 4: 32, 6: 128 }[ipVersion(address)] ?? 0
  if (bits === 0 || rest.length > 0) return 'must be a network, such as "10.0.0.0/8" or "fd00::/8"'
  if (prefix === undefined) return `has no prefix length: write "${text}/${bits}" for this one address`
  if (/^(0|[1-9][0-9]{0,2})$/.test(prefix) && Number(prefix) <= bits) return undefined
  return `must have a prefix length from 0 to ${bits} after the "/"`
}

function serverFault(text: string): string | undefined {
  return (
    endpointFault(text) ?? (text.endsWith(':0') ? 'must have the port that the server answers on' : undefined)
  )
}

/** Of a Unix socket the path, as sun_path holds it, or address:port. */
function socketFault(text: string): string | undefined {
  if (!text.startsWith('/')) {
    return (
      serverFault(text) && 'must be an absolute path, or an IP address and a port such as "127.0.0.1:3310"'
    )
  }
  return text.includes('\0') || Buffer.byteLength(text) > 107
    ? 'must be a path of at most 107 bytes'
    : undefined
}

/** What rspamd can advise (its lib/libmime, `rspamd_action`). */
const spamActions = ['reject', 'add header', 'rewrite subject', 'soft reject', 'greylist']

function spamActionFault(text: string): string | undefined {
  return spamActions.includes(text)
    ? undefined
    : `must be one of ${spamActions.map(each => `"${each}"`).join(', ')}`
}

function addressFault(text: string): string | undefined {
  const at = text.lastIndexOf('@')
  // Nothing that a mailto URL (RFC 6068), as ACME wants one, would have to encode.
  const isLocalPart = /^[A-Za-z0-9.!$'*+=^_`{|}~-]{1,64}$/.test(text.slice(0, at))
  if (at < 1 || !isLocalPart) return 'must be an email address, such as "ops@example.net"'
  const fault = domainFault(text.slice(at + 1))
  return fault && `has no domain that can be used after the "@": it ${fault}`
}

function keyPrefixFault(text: string): string | undefined {
  // In a header it stands for itself, and RFC 6750 §2.1 has it; "." parts what others make of tokens.
  return /^[A-Za-z0-9_-]{1,32}$/.test(text)
    ? undefined
    : 'must have 1 to 32 characters of a-z, A-Z, 0-9, "_" and "-", such as "mbx_"'
}

/** An address as settings have it: its domain as `writtenDomain` gives it. */
export function writtenAddress(text: string): string {
  const at = text.lastIndexOf('@') + 1
  return text.slice(0, at) + writtenDomain(text.slice(at))
}

const nameFault = (text: string) =>
  text === '' || text.length > 255 ? 'must have 1 to 255 characters' : undefined

const ipFault = (text: string) => (ipVersion(text) ? undefined : 'must be an IP address, without a port')

function originFault(text: string): string | undefined {
  if (text === '*') return undefined
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    return 'must be "*" or an origin, such as "https://app.example.com"'
  return url.origin === text ? undefined : `must be written "${url.origin}"`
}

/** Every form of text that a setting can ask for by `format`. */
export const formats = {
  domain: { title: 'host name', fault: domainFault },
  smarthost: { title: 'host name', fault: smarthostFault },
  user: { title: 'name of a user', fault: userFault },
  'domain-pattern': { title: 'domain, or "*"', fault: domainPatternFault },
  path: { title: 'absolute path', fault: pathFault },
  'base-url': { title: 'http or https address', fault: baseUrlFault },
  'postgres-url': { title: 'postgres://user@server/database', fault: postgresFault },
  bucket: { title: 's3://bucket', fault: bucketFault },
  listener: { title: 'address:port', fault: endpointFault },
  server: { title: 'address:port', fault: serverFault },
  origin: { title: 'origin, or "*"', fault: originFault },
  network: { title: 'network in CIDR form', fault: networkFault },
  ip: { title: 'IP address', fault: ipFault },
  socket: { title: 'path or address:port', fault: socketFault },
  'spam-action': { title: 'action of rspamd', fault: spamActionFault },
  name: { title: 'name', fault: nameFault },
  'key-prefix': { title: 'beginning of a token', fault: keyPrefixFault },
  address: { title: 'email address', fault: addressFault },
  duration: { title: 'duration', fault: durationFault },
} as const satisfies Record<string, Format>

export type FormatName = keyof typeof formats
