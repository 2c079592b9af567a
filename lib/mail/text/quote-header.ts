/** Verbs that end the line above a quote, in the languages of the mail programs: `On …, Bob wrote:`. */
const wrote = [
  'wrote|writes',
  'schrieb|geschrieben|schreef',
  'a écrit|écrivait|a écrit',
  'escribió|escreveu|ha scritto|va escriure|a scris',
  'skrev|kirjoitti|skrifaði',
  'napisał(?:a|\\(a\\))?|pisze|napsal(?:a|\\(a\\))?|napísal(?:a|\\(a\\))?|je napisa[ol]|írta',
  'написал(?:а|\\(а\\))?|пишет|писал(?:а|\\(а\\))?|пише|написав|написала|написа',
  'έγραψε|yazdı|כתב|كتب|đã viết|menulis|เขียนว่า',
  '写道|寫道|写到|のメール|のメッセージ|書きました|작성|썼습니다|님이 쓴 글',
].join('|')
const verb = new RegExp(`(?:${wrote})`, 'giu')
/** What may stand between the verb and the colon, and the longest of the verbs. */
const afterVerb = 121
const verbLength = 12
/** Such a line begins with a word for "on", or with a date. */
const beginning =
  /^(?:(?:on|am|le|el|em|il|in|op|den|dne|dnia|w|a|al|la|at|på|în|vào|pada|στις|בתאריך|في)\b|[于在於]|\d|[\p{L}.]{2,14},?\s+\d|[^\d]{0,60}<[^<>\s]{1,100}>\s*[于於在]\s*\d)/iu
const datedTime = /\b\d{4}\b|\d{1,2}[:.h]\d{2}|[年月日]/u
/** Of an address in angle brackets. */
const addressLength = 400
/** Lines that one attribution may be broken into. */
const attributionLines = 4

/**
 * Where the line (or the few lines that it was broken into) that says who wrote what is quoted below begins, when it
 * ends at `end`; undefined when that is no such line.
 */
export function attributionStart(lines: readonly string[], end: number): number | undefined {
  if (!/[:：]\s*$/u.test(lines[end]!)) return undefined
  let joined = ''
  for (let start = end; start > end - attributionLines && start >= 0; start--) {
    const line = lines[start]!.trim()
    if (line === '' || line.length > 400) return undefined
    joined = joined === '' ? line : `${line} ${joined}`
    if (!beginning.test(joined) || !datedTime.test(joined)) continue
    const said = joined.slice(0, -1).trimEnd()
    if (endsInVerb(said) || endsInAddress(said)) return start
  }
  return undefined
}

/** Whether a verb stands at the end, or not far before it: `… schrieb Bob Ross`. It stands behind the date. */
function endsInVerb(said: string): boolean {
  const date = said.search(/\d/)
  if (date < 0) return false
  const from = Math.max(date + 1, said.length - afterVerb - verbLength)
  const words = said.slice(from)
  // A verb may begin inside another that is none here.
  for (let found = search(words, 0); found; found = search(words, found.index + 1)) {
    const rest = words.slice(found.index + found[0].length)
    if (rest === '' || (rest.length <= afterVerb && /^\s/.test(rest))) return true
  }
  return false
}

function search(words: string, from: number): RegExpExecArray | null {
  verb.lastIndex = from
  return verb.exec(words)
}

function endsInAddress(said: string): boolean {
  if (!said.endsWith('>')) return false
  const last = said.slice(-addressLength - 3)
  const address = last.slice(last.lastIndexOf('<') + 1, -1)
  return address.length < last.length - 1 && /^[^<>\s@]+@[^<>\s]+$/.test(address)
}

/** Header fields as mail programs name them above what they quote. */
const fields = {
  from: 'from|von|de|da|van|fra|från|lähettäjä|od|от|від|kimden|expéditeur|remitente|mittente|afzender|feladó|από|发件人|發件人|寄件者|差出人|보낸 사람',
  date: 'sent|date|gesendet|datum|envoyé|enviado|enviado el|enviado em|fecha|data|inviato|verzonden|sendt|dato|skickat|lähetetty|wysłano|отправлено|дата|надіслано|gönderildi|tarih|odesláno|elküldve|ημερομηνία|发送时间|發送時間|寄件日期|日期|送信日時|日時|날짜|보낸 날짜',
  to: 'to|an|à|para|a|aan|til|till|vastaanottaja|do|кому|kime|komu|címzett|προς|收件人|收件者|宛先|받는 사람',
  subject:
    'subject|betreff|objet|asunto|assunto|oggetto|onderwerp|emne|ämne|aihe|temat|тема|konu|předmět|tárgy|θέμα|主题|主題|主旨|件名|제목',
} as const
type Field = keyof typeof fields
const fieldNames = new Map(
  Object.entries(fields).flatMap(([field, words]) => words.split('|').map(word => [word, field as Field])),
)
/** Of the longest name, with the marks before and behind it. */
const fieldNameLength = 40
const blockLines = 10

/** Whether a block of header fields (`From: … Sent: … To: … Subject: …`) begins in this line. */
export function isHeaderBlock(lines: readonly string[], start: number): boolean {
  if (fieldOf(lines[start]!) === undefined) return false
  const seen = new Set<Field>()
  let hasAddress = false
  for (const line of lines.slice(start, start + blockLines)) {
    // One blank line between two fields comes of paragraphs in HTML; the end of the block is found all the same.
    const field = fieldOf(line)
    if (field !== undefined) seen.add(field)
    if (field === 'from' && line.includes('@')) hasAddress = true
  }
  return seen.size >= 3 && seen.has('from') && (seen.has('subject') || hasAddress)
}

/** `> *From:* …`: marks of a quote and of bold type may stand around the name. */
function fieldOf(line: string): Field | undefined {
  if (line.length > 2000) return undefined
  const begin = line.search(/[^\s>*]/)
  const name = line.slice(begin, begin + fieldNameLength)
  const colon = name.search(/[:：]/)
  if (begin < 0 || colon < 0) return undefined
  return fieldNames.get(name.slice(0, colon).replace('*', '').trimEnd().toLowerCase())
}

const original = [
  'original message|original appointment|ursprüngliche nachricht|originalnachricht|original-nachricht|original-?mail',
  "message d['’]origine|message original|mensaje original|mensagem original|messaggio originale",
  'oorspronkelijk bericht|oprindelig meddelelse|opprinnelig melding|ursprungligt meddelande|alkuperäinen viesti',
  'wiadomość oryginalna|исходное сообщение|оригинальное сообщение|původní zpráva|eredeti üzenet|orijinal mesaj',
  '原始邮件|原始郵件|元のメッセージ|original 메시지|원본 메시지',
].join('|')
const originalWords = new RegExp(`^(?:${original})$`, 'iu')
const aboveLine = /^[\s>#=*_-]*(?:please )?(?:type|write|reply|add)\b.{0,40}\babove this line\b/iu

/** A line under which there is nothing but what was there before. */
export function isSeparator(line: string): boolean {
  return line.length < 200 && (isOriginalLine(line) || aboveLine.test(line))
}

/** `-----Original Message-----`, the rule after the words left out by some. */
function isOriginalLine(line: string): boolean {
  if (!/^[\s>]*[-_—]{2}/.test(line)) return false
  const begin = line.search(/[^\s>_—-]/)
  let end = line.length
  while (end > begin && /[\s_—-]/.test(line.charAt(end - 1))) end--
  return begin >= 0 && originalWords.test(line.slice(begin, end))
}
