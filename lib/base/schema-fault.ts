/** The database is of another version of mailboxd than this program; the message is a sentence with what to do. */
export class SchemaFault extends Error {
  override readonly name = 'SchemaFault'
}
