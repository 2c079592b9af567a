import { createPublicKey } from 'node:crypto'
import { dkimKeyBitsMin, dkimRecordLength, type Lookup } from '../signature/key.ts'
import { findTexts } from './find.ts'
import { type Finding, finding } from './finding.ts'
import { readTags } from './judgement.ts'
import { type DomainNames, domainRecords, zoneFile } from './records.ts'

/** Why the first key of a domain does not pass, where that is more than that it is another one. */
export async function adviseDkim(names: DomainNames, lookup: Lookup): Promise<Finding[]> {
  const record = domainRecords(names).find(one => one.purpose === 'dkim')!
  const texts = await findTexts(lookup, record.name)
  const said = (code: string, message: string) => [
    finding('error', code, record.name, message, zoneFile([record]).trimEnd()),
  ]
  if (texts.length > 1)
    return said('dkim_several', 'several records stand here, and which is taken is chance: leave ours')
  const [text] = texts
  if (text === undefined) return []
  const key = readTags(text).get('p')?.replace(/\s+/g, '')
  if (key === '') return said('dkim_revoked', 'the key is revoked (p= is empty): publish ours')
  if (key === undefined || key === names.publicKeyBase64) return []
  if (names.publicKeyBase64.startsWith(key)) {
    const message =
      'the key is cut off: some web forms take 255 characters of a text. Publish it as several strings, or ask who runs the DNS'
    return said('dkim_truncated', message)
  }
  const bits = bitsOf(key)
  if (bits === undefined) return said('dkim_broken', 'what stands in p= is no key: publish ours')
  if (bits < dkimKeyBitsMin)
    return said('dkim_weak', `a key of ${bits} bits is not believed (RFC 8301): publish ours`)
  return []
}

/** Of an RSA key; a stranger's record is as long as he likes, a key that is believed is not. */
function bitsOf(key: string): number | undefined {
  if (key.length > dkimRecordLength) return undefined
  try {
    const { asymmetricKeyDetails } = createPublicKey({
      key: Buffer.from(key, 'base64'),
      format: 'der',
      type: 'spki',
    })
    return asymmetricKeyDetails?.modulusLength
  } catch {
    return undefined
  }
}
