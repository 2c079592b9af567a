import Type from 'typebox'
import { duration, flag, list, number, table, tableList, text } from './setting.ts'

/** How mail goes out. */
export const deliveryTable = table('How mail goes out.', {
  mode: Type.Enum(['mx', 'capture'], {
    default: 'mx',
    local: 'capture',
    description:
      'With "mx", mail goes to the servers of the recipient\'s domain. With "capture", mail to domains that are not ours is kept and shown, and never leaves this machine.',
  }),
  port: number({
    default: 25,
    minimum: 1,
    maximum: 65_535,
    description: 'The port of the servers that mail is delivered to; other than 25 only in a laboratory.',
  }),
  concurrency: number({
    default: 200,
    minimum: 1,
    maximum: 1000,
    unit: 'deliveries',
    description:
      'The most deliveries under way at one time. Three quarters of them are for first attempts and a quarter for repeated ones; of both, two thirds may go to servers that have not answered yet.',
  }),
  concurrency_per_destination: number({
    default: 20,
    minimum: 1,
    maximum: 1000,
    unit: 'deliveries',
    description:
      'The most deliveries under way at one time to one destination, and to one address of a mail server, whatever names lead there. A destination begins with five and gets more with each answer. It gets half when it says that this is too much, and five again after it failed.',
  }),
  allow_networks: list('network', 0, {
    default: [],
    description:
      'Networks that mail servers of recipients may be in although they are not public, such as "10.0.0.0/8" for servers beside this one. An MX record that leads to any other loopback, private or reserved address, or to this machine, is not followed.',
  }),
  give_up_after: duration(['1m', '30d'], {
    default: '5d',
    description: 'How long a delivery is tried before it fails for good.',
  }),
  public_addresses: list('ip', 0, {
    default: [],
    examples: ['198.51.100.7'],
    description:
      'The addresses that this server has for others where those of its interfaces are not them (behind NAT): mail is never sent there, as it would come back.',
  }),
  source_address: Type.Optional(
    text('ip', {
      examples: ['192.0.2.1'],
      description: 'The address of this machine that mail is sent from. Without it, the system chooses.',
    }),
  ),
  tls_reports: flag({
    default: false,
    description:
      'Whether domains that ask for it (_smtp._tls, RFC 8460) are told once a day, in a mail of postmaster, how often TLS with their mail servers worked and why not.',
  }),
  ipv6: flag({
    default: false,
    description:
      "Whether mail is delivered over IPv6 too. Turn it on when this machine's IPv6 address has a PTR record: large providers refuse mail from one that has none.",
  }),
  route: tableList(
    {
      examples: [
        {
          domains: ['*'],
          host: 'smtp.example.net',
          port: 587,
          tls: 'starttls',
          user: 'mailboxd',
          password_file: '/etc/mailboxd/smarthost.password',
        },
      ],
      description:
        'Other ways for mail to some domains, such as a smarthost where port 25 is closed. One table for each; the first one with the domain of the recipient counts, and mail to all others goes to the mail servers of its domain.',
    },
    {
      domains: list('domain-pattern', 1, {
        default: ['*'],
        description: 'Domains, "*.example.org" for all below one, "*" for every one.',
      }),
      host: Type.Optional(
        text('smarthost', {
          examples: ['smtp.example.net'],
          description:
            'The smarthost, by a name that DNS has. It must prove this name by a certificate, unless tls is "plain". Without it, the mail servers of the recipient\'s domain.',
        }),
      ),
      port: number({
        default: 587,
        minimum: 1,
        maximum: 65_535,
        description: 'The port of the smarthost: 587 for "starttls", 465 for "implicit".',
      }),
      tls: Type.Enum(['starttls', 'implicit', 'plain'], {
        default: 'starttls',
        description:
          '"starttls" and "implicit" send nothing that is not encrypted. With "plain", for a server beside this one, it is encrypted where that works, and there is no user.',
      }),
      user: Type.Optional(
        text('user', {
          examples: ['mailboxd'],
          description: 'Who mailboxd is at the smarthost.',
        }),
      ),
      password_file: Type.Optional(
        text('path', {
          examples: ['/etc/mailboxd/smarthost.password'],
          description:
            'The file with the password in its first line, which the user of the daemon may read (mode 0640, group mailboxd).',
        }),
      ),
      source_address: Type.Optional(
        text('ip', {
          examples: ['192.0.2.1'],
          description: 'The address of this machine that this mail is sent from.',
        }),
      ),
      fallback: flag({
        default: false,
        description:
          "Whether the mail servers of the recipient's domain are tried when the smarthost can not be reached or does not answer, which takes port 25; without it such mail waits for the smarthost. What the smarthost refuses is refused.",
      }),
    },
  ),
})
