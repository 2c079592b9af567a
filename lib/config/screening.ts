import Type from 'typebox'
import { duration, flag, list, number, table, text } from './setting.ts'

/** Putting off senders that are not known (RFC 6647). */
export const greylistTable = table(
  'Greylisting: whoever is not known is told to come again later, which much spam does not do.',
  {
    enabled: flag({
      default: false,
      description:
        'Whether it is done. It delays the first mail of every sender, codes and links that an agent waits for among them. Those pass that the inbox has exchanged mail with, smtp.trusted_networks, blocks of addresses (a /24 of IPv4 or a /48 of IPv6) that came again five times, and what comes back of our own mail.',
    }),
    delay: duration(['1s', '1d'], {
      default: '1m',
      description: 'How long a sender must wait before it comes again (451 4.7.1 until then).',
    }),
    keep_for: duration(['1d', '365d'], {
      default: '36d',
      description: 'How long one that came again is known, from the last time that it was seen.',
    }),
  },
)

/** Lists of addresses in DNS (RFC 5782). */
export const dnsListsTable = table(
  'Lists of addresses that are published in DNS, such as those of known spammers.',
  {
    zones: list('domain', 0, {
      default: [],
      description:
        'The zones to ask about each peer that brings mail. A list is asked when it has passed the test of RFC 5782, every ten minutes anew; no answer in time is: not listed. Mind the terms of each list, and that large ones refuse to answer public resolvers.',
    }),
    action: Type.Enum(['refuse', 'mark'], {
      default: 'refuse',
      description:
        'What happens to the mail of a peer that is listed. With "refuse" its recipients are refused (550 5.7.1, with the zone), but for postmaster and abuse; with "mark" its mail is taken as spam.',
    }),
  },
)

/** Programs beside mailboxd that look into messages. */
export const scannerTable = table(
  'Programs that look into mail from outside. When one of them is down or late, mail flows, unscanned, and the log says how much.',
  {
    clamav: Type.Optional(
      text('socket', {
        examples: ['/run/clamav/clamd.ctl'],
        description:
          'The socket of clamd (ClamAV), a path or an address and a port. A message with a virus has the verdict "malicious".',
      }),
    ),
    rspamd_url: Type.Optional(
      text('base-url', {
        examples: ['http://127.0.0.1:11333'],
        description: 'The address of a normal worker of rspamd, without a slash at the end.',
      }),
    ),
    rspamd_spam_actions: list('spam-action', 0, {
      default: ['reject', 'add header'],
      description: 'The actions of rspamd that give a message the verdict "spam".',
    }),
    timeout: duration(['100ms', '60s'], {
      default: '10s',
      description: 'How long the scanning of one message may take; a message is taken unscanned after that.',
    }),
    max_message_size: number({
      default: 25 * 1024 * 1024,
      minimum: 1024,
      maximum: 100 * 1024 * 1024,
      unit: 'bytes',
      description:
        'Larger messages are taken unscanned. The StreamMaxLength of clamd.conf should not be smaller (it is 25M at first).',
    }),
    tell_malicious: flag({
      default: false,
      description:
        'Whether webhooks, streams and GET /v1/events tell of messages with the verdict "malicious". Such a message stands in lists and searches in any case, is never forwarded, and is waited for only with includeMalicious=true.',
    }),
  },
)
