import { StorageUnreachable, unreplicated } from '../../base/faults.ts'

/** A server that follows another: it answers, and takes no writes. */
export class Standby extends Error {
  override readonly name = 'Standby'

  constructor() {
    super(
      'it is a standby of another server, and takes no writes: `database` must name an endpoint that leads to the primary',
    )
  }
}

/** A commit was confirmed that no standby has: it is lost if one takes over now. */
export class Unreplicated extends Error {
  override readonly name = 'Unreplicated'
  readonly code = unreplicated

  constructor() {
    super(
      'somebody ended a commit while it waited for its standby (pg_cancel_backend), which may not have it',
    )
  }
}

/**
 * What to do when a server refuses connections or writes, by its SQLSTATE (invalid_password, invalid_catalog_name,
 * invalid_authorization_specification, too_many_connections, read_only_sql_transaction) or the code of Node.
 */
const hints: Readonly<Record<string, string>> = {
  '28P01':
    'look at the password in password_file (of a command: --password-file), or the role is not there (create role … login)',
  '3D000': 'make it (create database), or fix its name at the end of the URL',
  '28000': 'let this user in from this machine (create role … login; pg_hba.conf)',
  '53300':
    'allow more there (max_connections in postgresql.conf; alter role … or alter database … connection limit), or let each node open fewer (postgres.connections)',
  '25006':
    'somebody has it take no writes (default_transaction_read_only of the database, the role or the server, as providers set it when the disk is full): mailboxctl doctor says what turns that off',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'name the server in the URL as its certificate does, or give it one for this name',
  ECONNREFUSED:
    'nothing answers at that address and port: start the server, or fix them (listen_addresses in postgresql.conf)',
  ENOTFOUND: 'there is no such host: fix its name in the URL',
  EAI_AGAIN: 'DNS does not say where that host is: look at the name in the URL, and at /etc/resolv.conf',
}
const unknownAuthority =
  'the certificate of the server is of a CA that is not known here: if it is one of your own, name the file with its certificate in the URL (&sslrootcert=/etc/mailboxd/ca.pem), which the user that mailboxd runs as may read'

/** Replaces the messages of Node, which advise options of Node. */
const ofCertificates: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'the certificate of the server is signed by itself: copy it here and name the file in the URL (&sslrootcert=/etc/mailboxd/ca.pem), which the user that mailboxd runs as may read',
  CERT_HAS_EXPIRED: 'the certificate of the server, or of its CA, has expired: renew it there',
}

/** Messages of node-postgres that have no code, and what is said instead. */
const withoutCode: readonly (readonly [RegExp, (message: string) => string])[] = [
  [
    /client password must be a/,
    () =>
      'the server asks for a password, and none was given: name a file that has it, password_file (of a command: --password-file)',
  ],
  [
    /does not support SSL connections/,
    message => `${message}: turn it on there (ssl = on in postgresql.conf, with a certificate)`,
  ],
  [
    /^Query read timeout/,
    () =>
      'no answer came in time, and what was asked may be done all the same: look before you ask it again. mailboxctl doctor says what it waits for (a standby that is gone, a network)',
  ],
]

/** Returns an error that says what to do about a server that cannot be reached. */
function toldOf(error: Error): Error {
  const said = withoutCode.find(([pattern]) => pattern.test(error.message))
  if (said) return new Error(said[1](error.message), { cause: error })
  const code = 'code' in error ? String(error.code) : ''
  const withCode = (message: string) => Object.assign(new Error(message, { cause: error }), { code })
  const ofCertificate = ofCertificates[code]
  if (ofCertificate !== undefined) return withCode(ofCertificate)
  const hint = hints[code]
  if (hint !== undefined) return withCode(`${error.message || code}: ${hint}`)
  // An error for several addresses of one name has no message of its own.
  if (error.message !== '' || !(error instanceof AggregateError)) return error
  return withCode(error.errors.map(one => (one as Error).message).join(', '))
}

/** Returns the outage that an error is, with what to do about it. */
export const outageOf = (error: unknown) =>
  error instanceof StorageUnreachable ? error : new StorageUnreachable(toldOf(error as Error))

/** Codes of the system for a server that is not reached. */
const systemCodes = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]
/**
 * connection_exception, admin_shutdown and its kin, insufficient_resources (disk_full, too_many_connections), io_error,
 * read_only_sql_transaction (a standby), idle_in_transaction_session_timeout; and that a statement which this process prepared is
 * missing or was there before: a pooler gave the connection another session.
 */
const serverCodes = /^(08...|57P0.|53...|58030|25006|25P03|26000|42P05)$/
/** What node-postgres says without a code. */
const sentences =
  /^(Connection terminated|Query read timeout|timeout exceeded|Client (has encountered|was closed))/

export const hasCode = (error: unknown, code: string) =>
  error instanceof Error && 'code' in error && error.code === code

/** Returns whether a failure means that the server is gone or takes no writes. */
export function isOutage(error: unknown): error is Error {
  if (error instanceof StorageUnreachable || error instanceof Standby || error instanceof Unreplicated)
    return true
  if (!(error instanceof Error)) return false
  if (!('code' in error) || error.code === undefined) return sentences.test(error.message)
  return systemCodes.includes(String(error.code)) || serverCodes.test(String(error.code))
}
