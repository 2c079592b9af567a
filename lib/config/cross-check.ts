import { isIPv6 } from 'node:net'
import { type Endpoint, parseEndpoint } from './endpoint.ts'
import type { Fault } from './fault.ts'
import type { Config } from './schema.ts'

/** A rule that takes more than one setting. It is asked only when those that it reads are right by themselves. */
interface Rule {
  readonly reads: readonly string[]
  readonly faults: (config: Config) => readonly (Fault | false)[]
}

const rules: readonly Rule[] = [
  {
    reads: ['acme.directory', 'acme.terms_agreed'],
    faults: ({ acme: { directory, terms_agreed } }) => [
      directory !== undefined &&
        !terms_agreed && {
          path: 'acme.terms_agreed',
          message: `must be true for certificates from ${directory}: read the terms of service that it names, and set it`,
        },
      directory?.startsWith('http:') === true && {
        path: 'acme.directory',
        message: 'must begin with https:// (RFC 8555 section 6.1)',
      },
    ],
  },
  {
    reads: ['acme.directory', 'acme.terms_agreed', 'acme.contact', 'acme.names'],
    faults: ({ acme: { directory, terms_agreed, contact, names } }) => [
      directory === undefined &&
        (terms_agreed || contact !== undefined || names.length > 0) && {
          path: 'acme.directory',
          message:
            'is missing, and ACME is off without it: add a line such as directory = "https://acme-v02.api.letsencrypt.org/directory", or take out what else is set in [acme]',
        },
    ],
  },
  {
    reads: ['scanner.rspamd_url'],
    faults: ({ scanner: { rspamd_url = '' } }) => [
      rspamd_url.endsWith('/checkv2') && {
        path: 'scanner.rspamd_url',
        message: `ends with /checkv2, which mailboxd adds by itself: write "${rspamd_url.replace(/\/checkv2$/, '')}"`,
      },
    ],
  },
  {
    reads: ['dns.validating_server'],
    faults: ({ dns: { validating_server = '' } }) => [
      validating_server !== '' &&
        !/^(?:127\.|\[::1\])/.test(validating_server) && {
          path: 'dns.validating_server',
          message:
            'must be at a loopback address, such as "127.0.0.1:53": what it says of signatures is believed, and on the way from elsewhere anybody could change it',
        },
    ],
  },
  {
    reads: ['delivery.route'],
    faults: ({ delivery: { route } }) =>
      route.flatMap(({ host, user, password_file, tls, source_address, fallback }, index) => {
        const fault = (name: string, message: string) => ({
          path: `delivery.route.${index}.${name}`,
          message,
        })
        return [
          host === undefined &&
            (user !== undefined || source_address === undefined || fallback) &&
            fault('host', 'is missing: a route has a smarthost, or a source_address alone'),
          user !== undefined &&
            password_file === undefined &&
            fault('password_file', 'is missing: name the file with the password of user'),
          user !== undefined &&
            tls === 'plain' &&
            fault(
              'tls',
              'must be "starttls" or "implicit" where there is a user: a password is not sent in clear',
            ),
        ]
      }),
  },
  {
    reads: ['blobs', 's3.access_key_id', 's3.secret_access_key_file'],
    faults: ({ blobs, s3 }) =>
      (['access_key_id', 'secret_access_key_file'] as const).map(
        name =>
          blobs !== undefined &&
          s3[name] === undefined && { path: `s3.${name}`, message: 'is missing: blobs names a bucket' },
      ),
  },
  {
    reads: ['delivery.source_address', 'delivery.ipv6'],
    faults: ({ delivery: { source_address, ipv6 } }) => [
      source_address !== undefined &&
        isIPv6(source_address) &&
        !ipv6 && {
          path: 'delivery.source_address',
          message: 'is an IPv6 address, but delivery.ipv6 is false: set ipv6 = true, or give an IPv4 address',
        },
    ],
  },
  {
    reads: ['operator_address', 'account_domain', 'hostname'],
    faults: ({ operator_address = '', account_domain, hostname }) => [
      [account_domain, `bounce.${account_domain}`, hostname].includes(
        operator_address.slice(operator_address.lastIndexOf('@') + 1),
      ) && {
        path: 'operator_address',
        message:
          'is an address of this server: give one of another, or leave it out and read the inbox of postmaster',
      },
    ],
  },
  {
    reads: ['smtp.listen', 'submission.listen', 'submission.listen_tls', 'http.listen', 'acme.listen'],
    faults: listenerFaults,
  },
]

/** Two listeners can't have one port of one address. */
function listenerFaults({ smtp, submission, http, acme }: Config): Fault[] {
  const listeners = [
    ...smtp.listen.map((text, index) => ({ text, path: `smtp.listen[${index}]` })),
    ...submission.listen.map((text, index) => ({ text, path: `submission.listen[${index}]` })),
    ...submission.listen_tls.map((text, index) => ({ text, path: `submission.listen_tls[${index}]` })),
    ...http.listen.map((text, index) => ({ text, path: `http.listen[${index}]` })),
    ...(acme.directory === undefined ? [] : acme.listen).map((text, index) => ({
      text,
      path: `acme.listen[${index}]`,
    })),
  ]
  return listeners.flatMap(({ text, path }, index) => {
    const other = listeners
      .slice(0, index)
      .find(earlier => clash(parseEndpoint(earlier.text), parseEndpoint(text)))
    if (!other) return []
    const message = `"${text}" has the port of "${other.text}" in ${other.path}: give one of them another port`
    return [{ path, message }]
  })
}

function clash(a: Endpoint, b: Endpoint): boolean {
  if (a.port === 0 || a.port !== b.port || isIPv6(a.host) !== isIPv6(b.host)) return false
  const everyAddress = ['0.0.0.0', '::']
  return a.host === b.host || everyAddress.includes(a.host) || everyAddress.includes(b.host)
}

/** What is wrong between settings of `document`, given what is wrong with each by itself. */
export function crossFaults(document: Record<string, unknown>, known: readonly Fault[]): Fault[] {
  const isFaulty = (setting: string) =>
    known.some(({ path }) => path.startsWith(setting) || setting.startsWith(`${path}.`))
  return rules
    .filter(({ reads }) => !reads.some(isFaulty))
    .flatMap(({ faults }) => faults(document as Config))
    .filter(fault => fault !== false)
}
