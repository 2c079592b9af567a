import Type from 'typebox'
import { number, table, text } from './setting.ts'

/** How the server of `database` is reached. */
export const postgresTable = table('How the PostgreSQL server of database is reached.', {
  password_file: Type.Optional(
    text('path', {
      examples: ['/etc/mailboxd/postgres.password'],
      description:
        'The file with the password of the user in its first line, which the user of the daemon may read (mode 0640, group mailboxd); it is read at the start, and by mailboxctl also while the daemon is stopped. Without it, what the server asks for beside a password: a certificate, or the user of the socket.',
    }),
  ),
  connections: number({
    default: 10,
    minimum: 2,
    maximum: 100,
    unit: 'connections',
    description:
      'How many connections the daemon opens. Each thread that takes mail in opens two more, the one of the search index two, one hears what other nodes say, and one keeps others from starting beside it.',
  }),
})
