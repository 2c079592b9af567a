import Type from 'typebox'
import { flag, list, table, tableList, text } from './setting.ts'

/** The certificates that the operator brings. */
export const tlsTable = table('What the SMTP door proves its name with (STARTTLS).', {
  certificate: tableList(
    {
      examples: [{ certificate: '/etc/mailboxd/tls/fullchain.pem', key: '/etc/mailboxd/tls/privkey.pem' }],
      description:
        'One table for each certificate. A peer that asks for a name gets the first one with that name in it, any other the first of all. Files are read again within a minute when they change, and on SIGHUP; one that is broken then is logged, and the old one stays. Without any, and without [acme], a self-signed one is made in data_dir.',
    },
    {
      certificate: text('path', {
        examples: ['/etc/mailboxd/tls/fullchain.pem'],
        description: "The certificate, PEM, the server's own first and then the chain.",
      }),
      key: text('path', {
        examples: ['/etc/mailboxd/tls/privkey.pem'],
        description: 'Its private key, PEM, without a passphrase.',
      }),
    },
  ),
})

/** The certificates that mailboxd gets by itself. */
export const acmeTable = table(
  'Certificates from a CA by ACME (RFC 8555, http-01): gotten and renewed without further ado, beside those of [tls].',
  {
    directory: Type.Optional(
      text('base-url', {
        examples: ['https://acme-v02.api.letsencrypt.org/directory'],
        description: "The address of the CA's directory. Without it, ACME is off.",
      }),
    ),
    terms_agreed: flag({
      default: false,
      description:
        'Whether you agree to the terms of service of the CA, which its directory names. ACME needs it to be true.',
    }),
    contact: Type.Optional(
      text('address', {
        examples: ['postmaster@example.com'],
        description: 'The mail address that the CA may write to about the account.',
      }),
    ),
    names: list('domain', 0, {
      default: [],
      description:
        'The names in the certificate. Each must lead to this machine, since the CA asks on port 80 of it. Empty: the hostname.',
    }),
    listen: list('listener', 1, {
      default: ['0.0.0.0:80', '[::]:80'],
      description:
        'Where the question of the CA is answered: only while one is awaited, or all the time where the rows are on PostgreSQL, for it may be about another node. Behind a proxy that has port 80 let it pass /.well-known/acme-challenge/ on to this.',
    }),
  },
)
