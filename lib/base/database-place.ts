/** The URL of a database's server as it may be shown and kept: without a password. */
export function withoutPassword(url: string): string {
  // A URL of several servers is none that `URL` reads.
  const [place = '', query] = url.split('?', 2)
  const bare = place.replace(/^([^/]*\/\/[^/:@]*):[^/]*@/, '$1@')
  const asked = new URLSearchParams(query)
  if (!asked.has('password')) return query === undefined ? bare : `${bare}?${query}`
  asked.delete('password')
  return asked.size === 0 ? bare : `${bare}?${asked}`
}
