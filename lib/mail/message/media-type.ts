/** Whether a text in lower case is a media type (RFC 2045 §5.1, RFC 6838 §4.2). */
export function isMediaType(text: string): boolean {
  return /^[\w!#$&^.+-]{1,63}\/[\w!#$&^.+-]{1,63}$/.test(text)
}
