/** What a message must be to be found; what is not said may be anything. */
export interface SearchFilter {
  /** Words anywhere, "phrases" and -exclusions. */
  readonly q?: string | undefined
  /** As it stands, in the address or the name. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** Words, "phrases" and -exclusions. */
  readonly subject?: string | undefined
  /** Instants (ISO 8601 text); neither is itself within. */
  readonly after?: string | undefined
  readonly before?: string | undefined
  readonly hasAttachment?: boolean | undefined
  readonly category?: string | undefined
  readonly exceptCategories?: readonly string[] | undefined
  readonly direction?: string | undefined
}
