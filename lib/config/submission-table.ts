import { list, table } from './setting.ts'

/** The doors of those who send by SMTP. */
export const submissionTable = table(
  'The doors at which clients that know SMTP alone hand mail over to be sent: the user is the address of an inbox, the password an API key that may send from it. The sizes, times and shares of [smtp] count here, too.',
  {
    listen: list('listener', 0, {
      default: [],
      local: ['127.0.0.1:2587'],
      description:
        'The addresses and ports of submission with STARTTLS (RFC 6409), such as "0.0.0.0:587" and "[::]:587". Nobody is let in without it.',
    }),
    listen_tls: list('listener', 0, {
      default: [],
      description: 'The same with TLS from the first byte (RFC 8314), such as "0.0.0.0:465" and "[::]:465".',
    }),
  },
)
