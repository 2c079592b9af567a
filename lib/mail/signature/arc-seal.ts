import { rawFieldName } from '../compose/canonical.ts'
import { type DkimSigner, foldNames, selectFields, signedText, signText } from '../compose/dkim.ts'
import { arcSets, readArcChain, sealedText } from './arc.ts'
import type { HashedMessage } from './message.ts'

/** What of a message's body must be hashed for its seal. */
export const sealedPart = { bodyForm: 'relaxed', bodyLength: undefined } as const

/**
 * The three fields of our ARC set (RFC 8617 §5.1) for a message that we pass on, each with its CRLF, to stand at its top;
 * empty where a set would be worth nothing: on a chain that does not hold, and never will again, and on a message without
 * a From field.
 * @param message as it will cross the wire, with `sealedPart` hashed
 * @param results what we found when it came: the value of an Authentication-Results field, folded
 * @param chain what we found of its ARC chain then
 */
export async function sealArc(
  message: HashedMessage,
  found: { readonly results: string; readonly chain: 'none' | 'pass' | 'fail' },
  signer: DkimSigner,
): Promise<string> {
  const { fields } = message
  const sets = readArcChain(fields)
  const hasFrom = fields.some(field => rawFieldName(field) === 'from')
  if (sets === 'fail' || found.chain === 'fail' || sets.length >= arcSets || !hasFrom) return ''
  // What came with a chain that we did not check then is not vouched for.
  if (sets.length > 0 !== (found.chain === 'pass')) return ''
  const instance = sets.length + 1
  const seconds = Math.floor(signer.signedAt.getTime() / 1000)
  const who = `d=${signer.domain}; s=${signer.selector}; t=${seconds}`
  const names = selectFields(fields, ['DKIM-Signature'])
  const results = `ARC-Authentication-Results: i=${instance}; ${found.results}`
  const unsigned = [
    `ARC-Message-Signature: i=${instance}; a=rsa-sha256; c=relaxed/relaxed;`,
    `\t${who};`,
    `\th=${foldNames(names)};`,
    `\tbh=${message.bodyHash(sealedPart)!.digest};`,
    '\tb=',
  ].join('\r\n')
  const text = signedText({ names, headerForm: 'relaxed', unsigned }, fields)
  const signature = `${unsigned}${await signText(text, signer)}`
  const openSeal = `ARC-Seal: i=${instance}; a=rsa-sha256; cv=${found.chain};\r\n\t${who};\r\n\tb=`
  const sealed = sealedText([...sets, { results, message: signature, seal: openSeal }], {
    unsigned: openSeal,
  })
  const seal = `${openSeal}${await signText(sealed, signer)}`
  return `${seal}\r\n${signature}\r\n${results}\r\n`
}
