/** Lists: `limit` when none is given, and what a larger one is clamped to. */
export const pageSize = 50
export const pageSizeMax = 100

/** Which part of a list is wanted. Lists give their rows and `total`, the count of all rows that match. */
export interface Page {
  readonly limit: number
  readonly offset: number
}

export interface Listed<Row> {
  readonly rows: Row[]
  readonly total: number
}
