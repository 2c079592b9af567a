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

/**
 * The step that stands in a database into which rows are being moved (lib/store/moving), until all are there, and in one from which
 * they were moved: no program knows it, so none works on half of an installation, or on one that is elsewhere by now.
 */
export const movingStep = -1

const movedTo = ' moved to '

/** What the step is called. @param place where all rows are by now, the URL of a server without its password, or `sqlite` */
export function movingName(accountId: string, place?: string): string {
  return `rows-of-${accountId}${place === undefined ? '' : `${movedTo}${place}`}`
}

/** Of which account the rows are, as of `movingName`, and where they are by now; undefined: on their way, or it was not noted. */
export function readMovingName(name: string): {
  readonly rowsOf: string
  readonly place: string | undefined
} {
  const at = name.indexOf(movedTo)
  if (at < 0) return { rowsOf: name, place: undefined }
  return { rowsOf: name.slice(0, at), place: name.slice(at + movedTo.length) }
}
