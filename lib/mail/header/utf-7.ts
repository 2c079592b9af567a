/**
 * The text of UTF-7 (RFC 2152), which TextDecoder does not read: old programs of Microsoft wrote it. What stands between
 * `+` and `-` is base64 of UTF-16. Decoded before anything looks at what the text means, so that nothing hides in it.
 */
export function decodeUtf7(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replace(/\+([A-Za-z0-9+/]*)-?/g, (_run: string, encoded: string) =>
      encoded === '' ? '+' : fromUtf16(Buffer.from(encoded, 'base64')),
    )
}

function fromUtf16(bytes: Buffer): string {
  return bytes
    .subarray(0, bytes.length & ~1)
    .swap16()
    .toString('utf16le')
}
