/** How the text of an attachment is had; `unsupported`: not at all, as of an image. */
export type ExtractionMethod = 'pdf' | 'office' | 'csv' | 'html' | 'text' | 'unsupported'

/** By media type; those of text beside them are text. */
const byType: Readonly<Record<string, ExtractionMethod>> = {
  'application/pdf': 'pdf',
  'application/x-pdf': 'pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'office',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'office',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'office',
  'text/csv': 'csv',
  'text/tab-separated-values': 'csv',
  'application/csv': 'csv',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'application/json': 'text',
  'application/xml': 'text',
  'application/yaml': 'text',
}

/** By the end of the name, where the type says nothing of use: programs send CSV as Excel, and anything as octets. */
const byEnd: Readonly<Record<string, ExtractionMethod>> = {
  pdf: 'pdf',
  docx: 'office',
  xlsx: 'office',
  pptx: 'office',
  csv: 'csv',
  tsv: 'csv',
  htm: 'html',
  html: 'html',
  txt: 'text',
  md: 'text',
  log: 'text',
  json: 'text',
  xml: 'text',
  yaml: 'text',
  yml: 'text',
  ics: 'text',
  vcf: 'text',
}

/** How the text of such an attachment is had, as far as its type and its name tell. */
export function extractionMethodOf(attachment: {
  readonly filename: string
  readonly contentType: string
}): ExtractionMethod {
  const type = attachment.contentType.toLowerCase()
  const end = /\.([a-z0-9]{1,5})$/i.exec(attachment.filename.slice(-10))?.[1]?.toLowerCase() ?? ''
  const named = Object.hasOwn(byEnd, end) ? byEnd[end] : undefined
  if (Object.hasOwn(byType, type)) return byType[type]!
  // A more exact word than "text", which programs say of most files.
  if (type.startsWith('text/')) return named === 'csv' || named === 'html' ? named : 'text'
  if (/^application\/[\w.-]+\+(?:json|xml)$/.test(type)) return 'text'
  const isVague = !/^(?:image|audio|video|font|model|message|multipart)\//.test(type)
  return (isVague && named) || 'unsupported'
}
