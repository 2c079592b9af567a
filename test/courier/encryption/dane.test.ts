import { hash, X509Certificate } from 'node:crypto'
import t from 'tap'
import { daneFault, findTlsa, type Tlsa } from '../../../lib/courier/encryption/dane.ts'
import type { SecureDns } from '../../../lib/courier/encryption/secure-dns.ts'
import { writeIssuedCertificate } from '../../support/certificate.ts'

const host = 'mx.dane.example'
const ours = await writeIssuedCertificate(t.testdir(), host)
const [leaf, intermediate, root] = [ours.leaf, ours.intermediate, ours.root].map(
  pem => new X509Certificate(pem),
) as [X509Certificate, X509Certificate, X509Certificate]
const others = await writeIssuedCertificate(t.testdir({ others: {} }), host)
const [theirLeaf, theirIntermediate] = [others.leaf, others.intermediate].map(
  pem => new X509Certificate(pem),
) as [X509Certificate, X509Certificate]

const digests = [undefined, 'sha256', 'sha512'] as const
function record(
  usage: Tlsa['usage'],
  selector: Tlsa['selector'],
  matchingType: Tlsa['matchingType'],
  of: X509Certificate,
): Tlsa {
  const bytes = selector === 0 ? of.raw : of.publicKey.export({ type: 'spki', format: 'der' })
  const digest = digests[matchingType]
  return { usage, selector, matchingType, data: digest ? hash(digest, bytes) : bytes.toString('hex') }
}
const now = new Date((leaf.validFromDate.getTime() + leaf.validToDate.getTime()) / 2)
const chain = [leaf, intermediate]
const fault = (tlsa: readonly Tlsa[], shown: readonly X509Certificate[] = chain, at = now, name = host) =>
  daneFault(tlsa, shown, [name], at)
const kinds = [0, 1].flatMap(selector => [0, 1, 2].map(type => [selector, type])) as [
  Tlsa['selector'],
  Tlsa['matchingType'],
][]
const after = new Date(Math.max(leaf.validToDate.getTime(), root.validToDate.getTime()) + 1)

t.test('a record names the certificate of the server, or its key', async t => {
  for (const [selector, type] of kinds) {
    t.equal(fault([record(3, selector, type, leaf)]), undefined, `3 ${selector} ${type}`)
    t.match(fault([record(3, selector, type, leaf)], [theirLeaf]), /no TLSA record/, 'of another')
    t.match(fault([record(3, selector, type, intermediate)]), /no TLSA record/, 'of who issued it')
  }
  // RFC 7672 section 3.1.1
  t.equal(fault([record(3, 1, 1, leaf)], chain, after, 'other.example'), undefined, 'neither name nor time')
  t.match(fault([record(3, 1, 1, leaf)], []), /no certificate/)
})

t.test('a record names who issued it', async t => {
  for (const [selector, type] of kinds) {
    const name = `2 ${selector} ${type}`
    const anchor = [record(2, selector, type, intermediate)]
    t.equal(fault(anchor), undefined, name)
    t.match(fault(anchor, [theirLeaf, theirIntermediate]), /no TLSA record/, `${name}, and others did`)
    t.match(
      fault(anchor, [theirLeaf, intermediate]),
      /no TLSA record/,
      `${name}, shown beside what it did not issue`,
    )
    t.match(fault(anchor, chain, after), /no TLSA record/, `${name}, out of force`)
    t.match(fault(anchor, chain, now, 'other.example'), /not for other\.example/, `${name}, for another name`)
    t.match(
      fault([record(2, selector, type, leaf)]),
      /no TLSA record/,
      `${name}, which names the server itself`,
    )
  }
})

t.test('who issued it need not be shown where DNS has all of its certificate', async t => {
  for (const [selector, type] of kinds) {
    const isWhole = selector === 0 && type === 0
    const name = `2 ${selector} ${type}`
    const said = (of: X509Certificate, shown: readonly X509Certificate[], at = now) =>
      fault([record(2, selector, type, of)], shown, at) === undefined
    t.equal(said(intermediate, [leaf]), isWhole, name)
    t.equal(said(root, chain), isWhole, `${name}, the root above what is shown`)
    t.notOk(said(root, [leaf]), `${name}, with a certificate missing between`)
    t.notOk(said(intermediate, [theirLeaf]), `${name}, and others issued it`)
    t.notOk(said(intermediate, [leaf], after), `${name}, out of force`)
  }
})

t.test('of the TLSA records that a host has, those that can be used bind', async t => {
  const data = (usage: number, selector: number, matchingType: number, length: number) => ({
    ...{ type: 'TLSA' as const, name: `_25._tcp.${host}` },
    data: { usage, selector, matchingType, certificate: Buffer.alloc(length, 7) },
  })
  const found = async (...records: ReturnType<typeof data>[]) => {
    const dns = { ask: async () => ({ records, isAuthentic: true }) } as unknown as SecureDns
    const finding = await findTlsa(dns, [host], 25)
    return finding.kind === 'records'
      ? finding.tlsa.map(one => [one.usage, one.selector, one.matchingType, one.data.length / 2])
      : finding.kind
  }
  t.strictSame(await found(), 'none')
  t.strictSame(await found(data(3, 1, 1, 32), data(2, 0, 2, 64), data(3, 0, 0, 700)), [
    [3, 1, 1, 32],
    [2, 0, 2, 64],
    [3, 0, 0, 700],
  ])
  t.strictSame(
    await found(
      ...[data(3, 1, 1, 31), data(3, 1, 1, 33), data(3, 1, 2, 63), data(3, 1, 2, 65), data(3, 1, 3, 32)],
      ...[data(0, 1, 1, 32), data(1, 1, 1, 32), data(4, 1, 1, 32), data(3, 2, 1, 32)],
    ),
    [],
    'encrypted, to whoever it is',
  )
})
