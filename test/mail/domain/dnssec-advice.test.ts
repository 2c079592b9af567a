import { randomBytes } from 'node:crypto'
import t from 'tap'
import { adviseDnssec, type DelegationSigner } from '../../../lib/mail/domain/dnssec-advice.ts'

const zone = 'ours.example'
const now = new Date('2026-01-02T00:00:00Z')
const seconds = (days: number) => now.getTime() / 1000 + days * 86_400
const keys = [{ flags: 257, algorithm: 13, key: randomBytes(64) }]
const signatures = [{ covers: 'DNSKEY', inception: seconds(-1), expiration: seconds(10) }]
const codes = (signers: DelegationSigner[], more = {}) =>
  adviseDnssec(zone, { signers, keys, signatures, ...more }, now).map(({ code }) => code)

/** The DS of the key, as it is told to who has none. test/core/domains/diagnosis has it from Knot. */
const [told] = adviseDnssec(zone, { signers: [], keys, signatures }, now)
const [, tag, , , digest] = /DS (\d+) (\d+) (\d+) (\w+)$/.exec(told!.paste!)!
const signer: DelegationSigner = {
  keyTag: Number(tag),
  algorithm: 13,
  digestType: 2,
  digest: Buffer.from(digest!, 'hex'),
}

t.test('a zone is joined to the one above by tag, algorithm and digest', async t => {
  t.equal(told!.code, 'dnssec_no_ds')
  t.strictSame(codes([signer]), [])
  const other = Buffer.from(signer.digest)
  other[0]! ^= 1
  t.strictSame(codes([{ ...signer, digest: other }]), ['dnssec_broken'])
  t.strictSame(codes([{ ...signer, algorithm: 8 }]), ['dnssec_broken'])
  t.strictSame(codes([{ ...signer, keyTag: signer.keyTag ^ 1 }]), ['dnssec_broken'])
  t.strictSame(codes([{ ...signer, digest: other }, signer]), [], 'one of several is enough')
  t.strictSame(codes([signer], { keys: [] }), ['dnssec_broken'])
  t.strictSame(codes([signer], { signatures: [] }), ['dnssec_expired'], 'its keys are not signed')
  t.strictSame(codes([], { keys: [] }), ['dnssec_unsigned'])
})

t.test('a signature holds between two instants', async t => {
  const until = (inception: number, expiration: number) =>
    codes([signer], {
      signatures: [{ covers: 'DNSKEY', inception: seconds(inception), expiration: seconds(expiration) }],
    })
  t.strictSame(until(-10, 3), [])
  t.strictSame(until(-10, 1), ['dnssec_ends_soon'])
  t.strictSame(until(-10, -1), ['dnssec_expired'])
  t.strictSame(until(1, 10), ['dnssec_expired'], 'not yet')
})
