import { webcrypto } from 'node:crypto'

/** A new key (P-256) as PEM, and a request for a certificate of it with these names (PKCS #10, RFC 8555 §7.4) in DER. */
export async function createSigningRequest(
  names: readonly string[],
): Promise<{ readonly keyPem: string; readonly requestDer: Buffer }> {
  // Slow to load, and needed once in two months.
  const x509 = await import('@peculiar/x509')
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const request = await x509.Pkcs10CertificateRequestGenerator.create(
    {
      keys,
      signingAlgorithm: algorithm,
      extensions: [new x509.SubjectAlternativeNameExtension(names.map(value => ({ type: 'dns', value })))],
    },
    webcrypto as Crypto,
  )
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  const keyPem = `-----BEGIN PRIVATE KEY-----\n${der.replace(/.{64}(?=.)/g, '$&\n')}\n-----END PRIVATE KEY-----\n`
  return { keyPem, requestDer: Buffer.from(request.rawData) }
}
