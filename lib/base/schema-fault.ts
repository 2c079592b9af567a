/** The database is of another version of mailboxd than this program; the message is a sentence with what to do. */
export class SchemaFault extends Error {
  override readonly name: string = 'SchemaFault'
}

/** A development version from before the first release made the database: no program opens it, however often it is started. */
export class UnreleasedSchema extends SchemaFault {
  override readonly name = 'UnreleasedSchema'
}
