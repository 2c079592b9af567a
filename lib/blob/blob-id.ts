const form = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whether a file or an object of ours may be called so: a UUID as we write them, which leads nowhere when it is joined to a path. */
export function isBlobId(id: unknown): boolean {
  return typeof id === 'string' && form.test(id)
}

/**
 * The id, when it is one. A restored database may be anybody's, and what stands in its rows would else lead to any file of this user.
 * @throws Error for damaged data
 */
export function requireBlobId(id: string): string {
  if (isBlobId(id)) return id
  throw new Error(`a row is damaged: ${JSON.stringify(String(id).slice(0, 100))} can be the id of no file`)
}
