/** Which part of a list is wanted. Lists give their rows and `total`, the count of all rows that match. */
export interface Page {
  readonly limit: number
  readonly offset: number
}

export interface Listed<Row> {
  readonly rows: Row[]
  readonly total: number
}
