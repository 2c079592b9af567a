import Type from 'typebox'
import { duration, table } from './setting.ts'

/** By which keys domains here sign. */
export const dkimTable = table('The keys that mail of domains here is signed by.', {
  rotate_every: Type.Optional(
    Type.String({
      format: 'duration',
      between: ['7d', '3650d'],
      examples: ['180d'],
      description:
        'How long a domain signs by the same key. Then new ones are made and shown among its records; each is used as soon as it is found in DNS. Without it, only mailboxctl domain rotate-key does that.',
    }),
  ),
})

/** What domains here ask of those who send to them. */
export const mtaStsTable = table(
  'The MTA-STS policy of domains here (RFC 8461): by it others send their mail only encrypted, and only to this server. It is served at https://mta-sts.<domain>/.well-known/mta-sts.txt by the HTTP door, for whose certificate the proxy before it cares.',
  {
    mode: Type.Enum(['off', 'testing', 'enforce'], {
      default: 'off',
      description:
        'With "testing" others report what would have failed, with "enforce" they do not send it. The records for it are listed with those of each domain. This server must prove its hostname by a certificate that others believe.',
    }),
    max_age: duration(['1d', '365d'], {
      default: '7d',
      description: 'How long others keep the policy. To end it, set the mode to "testing" for so long first.',
    }),
  },
)
