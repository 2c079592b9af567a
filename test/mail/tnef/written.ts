/** TNEF as Outlook writes it (MS-OXTNEF), so much of it as tests ask for. */

const [ofMessage, ofAttachment] = [1, 2]

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value & 0xffff)
  return bytes
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}

function attribute(level: number, type: number, id: number, data: Buffer): Buffer {
  const sum = data.reduce((total, byte) => total + byte, 0)
  return Buffer.concat([Buffer.from([level]), u16(id), u16(type), u32(data.length), data, u16(sum)])
}

function filled(bytes: Buffer): Buffer {
  return Buffer.concat([u32(bytes.length), bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)])
}

/** A property: UTF-16 of a string; bytes as bytes, or as the object of a message. */
type Value = string | Buffer | { readonly object: Buffer } | number

function property(id: number, value: Value): Buffer {
  if (typeof value === 'number') return Buffer.concat([u16(0x03), u16(id), u32(value)])
  const [type, bytes] =
    typeof value === 'string'
      ? [0x1f, Buffer.from(`${value}\0`, 'utf16le')]
      : Buffer.isBuffer(value)
        ? [0x102, value]
        : [0x0d, Buffer.concat([Buffer.alloc(16, 7), value.object])]
  return Buffer.concat([u16(type), u16(id), u32(1), filled(bytes)])
}

/** One that a program has named, with two values. */
const named = Buffer.concat([
  u16(0x101f),
  u16(0x8001),
  Buffer.alloc(16, 9),
  u32(1),
  filled(Buffer.from('Keywords\0', 'utf16le')),
  u32(2),
  filled(Buffer.from('a\0', 'utf16le')),
  filled(Buffer.from('bcd\0', 'utf16le')),
])

function properties(values: Readonly<Record<number, Value>>): Buffer {
  const all = Object.entries(values).map(([id, value]) => property(Number(id), value))
  return Buffer.concat([u32(all.length + 1), named, ...all])
}

export interface WrittenFile {
  /** In the code page of the message, 8.3 as DOS had it. */
  readonly title?: string
  readonly longName?: string
  readonly displayName?: string
  readonly contentType?: string
  readonly contentId?: string
  readonly content?: Buffer
  /** A message that is attached. */
  readonly message?: Buffer
}

export interface WrittenTnef {
  readonly codePage?: number
  readonly text?: string
  readonly html?: Buffer
  readonly htmlCodePage?: number
  readonly rtf?: Buffer
  readonly files?: readonly WrittenFile[]
}

/** The stream that stands in a winmail.dat. */
export function writeTnef({ codePage, text, html, htmlCodePage, rtf, files = [] }: WrittenTnef): Buffer {
  const body = properties({
    ...(text === undefined ? {} : { 4096: text }),
    ...(html && { 4115: html }),
    ...(htmlCodePage === undefined ? {} : { 16350: htmlCodePage }),
    ...(rtf && { 4105: rtf }),
  })
  return Buffer.concat([
    u32(0x223e9f78),
    u16(1),
    attribute(ofMessage, 8, 0x9006, u32(0x10000)),
    ...(codePage === undefined
      ? []
      : [attribute(ofMessage, 6, 0x9007, Buffer.concat([u32(codePage), u32(0)]))]),
    attribute(ofMessage, 6, 0x9003, body),
    ...files.flatMap(writeFile),
  ])
}

function writeFile({ title, longName, displayName, contentType, contentId, content, message }: WrittenFile) {
  return [
    attribute(ofAttachment, 6, 0x9002, Buffer.alloc(14)),
    ...(title === undefined ? [] : [attribute(ofAttachment, 1, 0x8010, Buffer.from(`${title}\0`, 'latin1'))]),
    ...(message
      ? [attribute(ofAttachment, 6, 0x800f, Buffer.from('a message, which is not supported'))]
      : []),
    ...(content ? [attribute(ofAttachment, 6, 0x800f, content)] : []),
    attribute(
      ofAttachment,
      6,
      0x9005,
      properties({
        ...(longName === undefined ? {} : { 14087: longName }),
        ...(displayName === undefined ? {} : { 12289: displayName }),
        ...(contentType === undefined ? {} : { 14094: contentType }),
        ...(contentId === undefined ? {} : { 14098: contentId }),
        ...(message && { 14081: { object: message } }),
      }),
    ),
  ]
}

/** RTF as Exchange keeps it (MS-OXRTFCP), without references to what stood before. */
export function packRtf(rtf: string): Buffer {
  const bytes = Buffer.from(rtf, 'latin1')
  const runs: Buffer[] = []
  for (let at = 0; at < bytes.length; at += 8) runs.push(Buffer.from([0]), bytes.subarray(at, at + 8))
  const packed = Buffer.concat(runs)
  return Buffer.concat([u32(packed.length + 12), u32(bytes.length), u32(0x75465a4c), u32(0), packed])
}

/** A message with it beside the text. */
export function messageWith(
  tnef: Buffer,
  text = '',
  contentType = 'application/ms-tnef; name="winmail.dat"',
) {
  return Buffer.from(
    [
      'From: ann@example.com',
      'Subject: Plans',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain; charset=us-ascii',
      '',
      text,
      '--b',
      `Content-Type: ${contentType}`,
      'Content-Transfer-Encoding: base64',
      'Content-Disposition: attachment; filename="winmail.dat"',
      '',
      tnef.toString('base64').replace(/.{76}/g, '$&\r\n'),
      '--b--',
      '',
    ].join('\r\n'),
  )
}
