/** The domain of our reverse-paths: a name of its own, so that the owner's SPF at the apex stays as it is. */
export function bounceDomain(domain: string): string {
  return `bounce.${domain}`
}

/** The mail domain whose reverse-path domain this is, if it is one by its name. */
export function mailDomainOf(domain: string): string | undefined {
  const prefix = bounceDomain('')
  return domain.startsWith(prefix) ? domain.slice(prefix.length) : undefined
}
