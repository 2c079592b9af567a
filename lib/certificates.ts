import { parseEndpoint } from './config/endpoint.ts'
import type { App } from './core/app/app.ts'
import { shareCertificate } from './core/nodes/shared-certificate.ts'
import { hasAddress } from './courier/host-address.ts'
import { issuedPaths } from './tls/acme/issued.ts'
import { type Certificates, openCertificates } from './tls/certificates.ts'

/** Opens the certificates that the configuration names, and those of its CA. @throws CertificateFault */
export function openConfigured({ config, clock, log }: App): Promise<Certificates> {
  return openCertificates({
    pairs: config.tls.certificate,
    issued: config.acme.directory === undefined ? undefined : issuedPaths(config.data_dir),
    dataDir: config.data_dir,
    hostname: config.hostname,
    clock,
    log,
  })
}

/** Keeps a certificate of the CA in force, if the configuration names one; returns what ends it. */
export function startRenewing(
  app: App,
  certificates: Certificates,
  random: () => number,
): (() => Promise<void>) | undefined {
  const { config, clock, log } = app
  const { directory, names, contact, listen } = config.acme
  if (directory === undefined) return undefined
  const order = { directory, names: names.length > 0 ? names : [config.hostname] }
  const startWhenLoaded = async () => {
    const { startRenewal } = await import('./tls/acme/renewal.ts')
    return startRenewal({
      ...order,
      clock,
      log,
      random,
      contact,
      listen: listen.map(parseEndpoint),
      dataDir: config.data_dir,
      hasAddress: name => hasAddress(app.dns, name),
      onIssued: () => certificates.look(),
      ...(config.database !== undefined && { shared: shareCertificate(app, order) }),
    })
  }
  // Nobody waits for what it loads: "ready" has been said, and a signal must find who hears it.
  const renewal = startWhenLoaded()
  return async () => (await renewal).stop()
}
