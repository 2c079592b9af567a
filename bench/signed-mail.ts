import { dkimRecord, generateDkimKey } from '../lib/mail/compose/dkim.ts'
import { loadDomain, loadSelector } from './load-message.ts'
import { type NameServer, startNameServer } from './subject/name-server.ts'
import type { Subject } from './subject/subject.ts'

export interface SignedMail {
  readonly privateKeyPem: string
  readonly nameServer: NameServer
}

/** A new key for the load (RSA of 2048 bits), and a name server with it and with SPF and DMARC of its domain. */
export async function startSignedMail(): Promise<SignedMail> {
  const { privateKeyPem, publicKeyBase64 } = await generateDkimKey()
  const nameServer = await startNameServer({
    [loadDomain]: 'v=spf1 ip4:127.0.0.1 -all',
    [`${loadSelector}._domainkey.${loadDomain}`]: dkimRecord(publicKeyBase64),
    [`_dmarc.${loadDomain}`]: 'v=DMARC1; p=reject',
  })
  return { privateKeyPem, nameServer }
}

/** Throws unless the first message that a server took says that SPF, DKIM and DMARC passed, by that server. */
export async function proveAuthentic(subject: Subject): Promise<void> {
  const raw = (await subject.first?.()) ?? ''
  const header = raw.slice(0, raw.search(/\r?\n\r?\n/)).replace(/\r?\n[ \t]+/g, ' ')
  const results = header
    .split(/\r?\n/)
    .filter(field => /^(Authentication-Results|Received-SPF):/i.test(field))
  const said = results.join('\n')
  const passed = [/\bspf=pass\b|^Received-SPF: pass\b/im, /\bdkim=pass\b/i, /\bdmarc=pass\b/i]
  if (!passed.every(pattern => pattern.test(said)))
    throw new Error(`not all of SPF, DKIM and DMARC passed:\n${said || header}`)
  process.stderr.write(`${said}\n`)
}
