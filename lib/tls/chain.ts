import { X509Certificate } from 'node:crypto'
import { rootCertificates } from 'node:tls'
import { oneLine } from '../base/text.ts'

/**
 * What is doubtful about the certificates that a server shows, its own first, in words that go on after the file's name.
 * A peer that verifies needs each one's issuer right behind it (RFC 5246 §7.4.2), up to one that it knows itself.
 */
export function chainWarning(certificates: readonly X509Certificate[], now: Date): string | undefined {
  for (const [index, one] of certificates.entries()) {
    if (index > 0 && one.validToDate <= now) {
      return `has a chain of which "${nameOf(one)}" expired at ${one.validToDate.toISOString()}: renew it with its chain`
    }
    const next = certificates[index + 1]
    if (next && !isIssuedBy(one, next)) {
      return certificates.some(other => other !== one && isIssuedBy(one, other))
        ? `has its chain in the wrong order: behind "${nameOf(one)}" must stand its issuer`
        : `has a chain with a gap: behind "${nameOf(one)}" stands "${nameOf(next)}", which did not issue it`
    }
  }
  const last = certificates.at(-1)
  // Behind one that a CA issued to another there is its root at the most, which nobody needs to be sent.
  if (!last || certificates.length > 1 || isSelfSigned(last) || isKnownRoot(last)) return undefined
  return `has a chain that ends too early: add the certificate of "${issuerOf(last)}", which issued "${nameOf(last)}", unless every peer knows it`
}

function isIssuedBy(one: X509Certificate, issuer: X509Certificate): boolean {
  return one.checkIssued(issuer) && one.verify(issuer.publicKey)
}

/** One that is no CA, too, whose key usage keeps it from being an issuer. */
function isSelfSigned(one: X509Certificate): boolean {
  return one.subject === one.issuer && one.verify(one.publicKey)
}

/** Whether a root that everybody has issued it. */
function isKnownRoot(one: X509Certificate): boolean {
  return rootCertificates.some(pem => {
    const root = new X509Certificate(pem)
    return root.subject === one.issuer && isIssuedBy(one, root)
  })
}

const nameOf = (one: X509Certificate) => oneLine(one.subject)
const issuerOf = (one: X509Certificate) => oneLine(one.issuer)
