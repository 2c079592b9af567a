/** What became of settings that had another name, in a sentence that goes on from the old one. */
export const renamed: ReadonlyMap<string, string> = new Map([
  ['smtp.tls_certificate', heirOfPair('certificate')],
  ['smtp.tls_key', heirOfPair('key')],
])

function heirOfPair(name: 'certificate' | 'key'): string {
  return `is now ${name} in a table [[tls.certificate]]: write [[tls.certificate]], and in the lines below it certificate = "…" and key = "…"`
}
