import { filenameLength } from '../../base/lengths.ts'
import { singleLine } from '../header/text.ts'

/** What files of these types usually end in. */
const extensions = new Map(
  Object.entries({
    'application/gzip': 'gz',
    'application/json': 'json',
    'application/msword': 'doc',
    'application/pdf': 'pdf',
    'application/pgp-signature': 'asc',
    'application/pkcs7-mime': 'p7m',
    'application/pkcs7-signature': 'p7s',
    'application/rtf': 'rtf',
    'application/vnd.ms-excel': 'xls',
    'application/vnd.ms-powerpoint': 'ppt',
    'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
    'application/xml': 'xml',
    'application/zip': 'zip',
    'audio/mpeg': 'mp3',
    'audio/ogg': 'ogg',
    'audio/wav': 'wav',
    'image/bmp': 'bmp',
    'image/gif': 'gif',
    'image/heic': 'heic',
    'image/jpeg': 'jpg',
    'image/png': 'png',
    'image/svg+xml': 'svg',
    'image/tiff': 'tiff',
    'image/webp': 'webp',
    'message/rfc822': 'eml',
    'text/calendar': 'ics',
    'text/csv': 'csv',
    'text/html': 'html',
    'text/markdown': 'md',
    'text/plain': 'txt',
    'text/rfc822-headers': 'txt',
    'text/vcard': 'vcf',
    'text/x-vcard': 'vcf',
    'text/xml': 'xml',
    'video/mp4': 'mp4',
    'video/quicktime': 'mov',
  }),
)

/** The type that a name's end says, where a program said none but octets; those where the end could be anything. */
const types = new Map(
  [...extensions].filter(([type]) => !/^(?:message|text)\//.test(type)).map(([type, end]) => [end, type]),
)

/** Marks that turn the direction of text: with one before it, `fdp.exe` shows as `exe.pdf`. */
const directionMarks = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * The name of an attachment as a stranger gave it, so that it can do no harm: the last part of a path, one line, not
 * too long. One without a name gets `attachment-<number>` and what its type usually ends in.
 */
export function receivedFilename(given: string | undefined, contentType: string, number: number): string {
  const last = (given ?? '').replace(directionMarks, '').split(/[/\\]/).at(-1) ?? ''
  const name = shortened(singleLine(last.replace(/^[a-z]:/i, '')))
  if (!/^[. ]*$/.test(name)) return name
  return `attachment-${number}.${extensions.get(contentType) ?? 'bin'}`
}

/** What type the end of a name says; octets when it says none. */
export function typeOfFilename(name: string | undefined): string {
  const end = /\.([a-z0-9]{1,5})$/i.exec(name?.slice(-10) ?? '')?.[1]?.toLowerCase()
  return types.get(end === 'jpeg' ? 'jpg' : (end ?? '')) ?? 'application/octet-stream'
}

/** Cut in the stem, so that it still says of what type it is. */
function shortened(name: string): string {
  if (name.length <= filenameLength) return name
  const extension = /\.[^.]{1,20}$/.exec(name)?.[0] ?? ''
  return `${name.slice(0, filenameLength - extension.length)}${extension}`.toWellFormed()
}
