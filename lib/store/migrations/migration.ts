/** One step of the schema. Steps are only ever appended, never changed once released. */
export interface Migration {
  readonly number: number
  readonly name: string
  /**
   * Whether a program that does not know this step would do harm, or be harmed, on a database that has it. One that is not breaking
   * (expand) adds what such a program does without: a table, an index, a column that is null or has a default. It is made
   * while nodes of such a program run.
   */
  readonly breaking: boolean
  /**
   * Of a breaking step that only takes away (contract): the number of an earlier step, since which no program uses what it takes.
   * Who knows that one works on without knowing this. Without it nobody may who does not know this step.
   */
  readonly unusedSince?: number
  /** Portable SQL (schema.sql says its rules), statements ended by `;` at a line's end, comments in lines of their own. */
  readonly sql: string
}
