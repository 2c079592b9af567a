import { rawFieldName } from '../compose/canonical.ts'
import { plainText } from './excuse.ts'

/**
 * The header section at the start of a message, up to the empty line, without the Authentication-Results fields that say
 * that they are of this host, though they came from outside (RFC 8601 §5); all else stays byte for byte. A signature that
 * covers one of them does not hold after that. What we may take for the body already, and others for the header, is
 * looked at too.
 * @returns the section and how many bytes of `start` it stands for
 */
export function withoutForeignResults(start: Buffer, host: string): { kept: Buffer; sectionBytes: number } {
  const text = start.toString('latin1')
  const gap = /(?:^|\n)\r?\n/.exec(text)
  const section = gap ? text.slice(0, gap.index + gap[0].length) : text
  const kept = section
    .split(/(?<=\n)(?![ \t])/)
    .filter(field => rawFieldName(field) !== 'authentication-results' || !claims(field, host))
    .join('')
  return { kept: Buffer.from(kept, 'latin1'), sectionBytes: section.length }
}

/** In doubt it does: what is not to be read in one way only may be read as ours. */
function claims(field: string, host: string): boolean {
  const value = field.slice(field.indexOf(':') + 1)
  // The authserv-id may be a quoted string (RFC 8601 §2.2).
  const quoted = /^[ \t\r\n]*"((?:[^"\\]|\\.)*)"/s.exec(value)?.[1]?.replace(/\\(.)/gs, '$1')
  const id =
    quoted ??
    plainText(value)
      .trim()
      .split(/[\s;/]/)[0]!
  return id === '' || id.toLowerCase().replace(/\.$/, '') === host.toLowerCase()
}
