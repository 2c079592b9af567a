import t from 'tap'
import { readProperties } from '../../../lib/mail/tnef/properties.ts'

/** MS-OXCDATA §2.11.1 with MS-OXTNEF §2.1.3.4: bytes that a value takes in the stream, with what fills it up to four. */
const fixed: Readonly<Record<number, number>> = {
  2: 4, // PtypInteger16
  3: 4, // PtypInteger32
  4: 4, // PtypFloating32
  5: 8, // PtypFloating64
  6: 8, // PtypCurrency
  7: 8, // PtypFloatingTime
  10: 4, // PtypErrorCode
  11: 4, // PtypBoolean
  20: 8, // PtypInteger64
  64: 8, // PtypTime
  72: 16, // PtypGuid
}
const counted = [0x1e, 0x1f, 0x0d, 0x102]

const u16 = (value: number) => Buffer.from([value & 0xff, value >> 8])
const u32 = (value: number) => Buffer.concat([u16(value & 0xffff), u16(value >>> 16)])
const bytes = (count: number) => Buffer.from(Array.from({ length: count }, (_, at) => at + 1))
const filled = (value: Buffer) =>
  Buffer.concat([u32(value.length), value, Buffer.alloc((4 - (value.length % 4)) % 4)])
const block = (...properties: Buffer[]) => Buffer.concat([u32(properties.length), ...properties])
/** What stands behind another is found only where that was passed by its length. */
const behind = Buffer.concat([u16(3), u16(0x1234), u32(7)])
const isBehind = (found: ReturnType<typeof readProperties>) => found.get(0x1234)?.value.equals(u32(7))

t.test('a value of each type has its length, alone and of several', async t => {
  for (const [type, size] of Object.entries(fixed)) {
    const alone = readProperties(block(Buffer.concat([u16(+type), u16(1), bytes(size)]), behind))
    t.strictSame(alone.get(1), { type: +type, value: bytes(size) }, type)
    t.ok(isBehind(alone), type)
    const values = [u16(0x1000 | +type), u16(1), u32(3), bytes(size), Buffer.alloc(size), Buffer.alloc(size)]
    const several = readProperties(block(Buffer.concat(values), behind))
    t.strictSame(several.get(1), { type: +type, value: bytes(size) }, `several of ${type}`)
    t.ok(isBehind(several), `several of ${type}`)
  }
  for (const type of counted)
    for (const length of [0, 1, 3, 4, 5]) {
      for (const values of [[bytes(length)], [bytes(length), bytes(6)]]) {
        const kind = values.length > 1 ? 0x1000 | type : type
        const all = [u16(kind), u16(1), u32(values.length), ...values.map(filled)]
        const found = readProperties(block(Buffer.concat(all), behind))
        t.strictSame(found.get(1), { type, value: bytes(length) }, `${kind} of ${length}`)
        t.ok(isBehind(found), `${kind} of ${length}`)
      }
    }
})

t.test('what has a name is passed over, and of two with one number the first counts', async t => {
  const guid = bytes(16)
  for (const name of [
    Buffer.concat([u32(0), u32(9)]),
    ...[2, 4, 6].map(at => Buffer.concat([u32(1), filled(bytes(at))])),
  ])
    for (const id of [0x8000, 0xfffe]) {
      const found = readProperties(block(Buffer.concat([u16(3), u16(id), guid, name, u32(5)]), behind))
      t.ok(isBehind(found), `${id} ${name.length}`)
      t.equal(found.size, 1)
    }
  const last = Buffer.concat([u16(3), u16(0x7fff), u32(5)])
  t.strictSame(readProperties(block(last)).get(0x7fff)?.value, u32(5), 'the last without a name')
  const twice = readProperties(block(behind, Buffer.concat([u16(3), u16(0x1234), u32(8)])))
  t.ok(isBehind(twice))
})

t.test('what has no length, or ends too early, is refused', async t => {
  t.throws(() => readProperties(block(Buffer.concat([u16(0x99), u16(1), bytes(64)]))), RangeError)
  for (const property of [
    Buffer.concat([u16(5), u16(1), bytes(8)]),
    Buffer.concat([u16(0x102), u16(1), u32(1), u32(5), bytes(5)]),
  ]) {
    t.ok(readProperties(block(property)).has(1))
    t.throws(() => readProperties(block(property.subarray(0, -1))), RangeError)
  }
  t.throws(() => readProperties(Buffer.concat([u32(2), behind])), RangeError, 'fewer than are said')
})
