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
const wroteLine = new RegExp(`\\d.*(?:${wrote})(?:\\s.{0,120})?\\s*[:：]$`, 'iu')
/** Such a line begins with a word for "on", or with a date. */
const beginning =
  /^(?:(?:on|am|le|el|em|il|in|op|den|dne|dnia|w|a|al|la|at|på|în|vào|pada|στις|בתאריך|في)\b|[于在於]|\d|[\p{L}.]{2,14},?\s+\d|[^\d]{0,60}<[^<>\s]{1,100}>\s*[于於在]\s*\d)/iu
const datedTime = /\b\d{4}\b|\d{1,2}[:.h]\d{2}|[年月日]/u
const addressAtEnd = /<[^<>\s]{1,200}@[^<>\s]{1,200}>\s*[:：]$/u
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
    if (wroteLine.test(joined) || addressAtEnd.test(joined)) return start
  }
  return undefined
}

/** Header fields as mail programs name them above what they quote. */
const fields = {
  from: 'from|von|de|da|van|fra|från|lähettäjä|od|от|від|kimden|expéditeur|remitente|mittente|afzender|feladó|από|发件人|發件人|寄件者|差出人|보낸 사람',
  date: 'sent|date|gesendet|datum|envoyé|enviado(?: el| em)?|fecha|data|inviato|verzonden|sendt|dato|skickat|lähetetty|wysłano|отправлено|дата|надіслано|gönderildi|tarih|odesláno|elküldve|ημερομηνία|发送时间|發送時間|寄件日期|日期|送信日時|日時|날짜|보낸 날짜',
  to: 'to|an|à|para|a|aan|til|till|vastaanottaja|do|кому|kime|komu|címzett|προς|收件人|收件者|宛先|받는 사람',
  subject:
    'subject|betreff|objet|asunto|assunto|oggetto|onderwerp|emne|ämne|aihe|temat|тема|konu|předmět|tárgy|θέμα|主题|主題|主旨|件名|제목',
} as const
type Field = keyof typeof fields
const fieldLines = Object.entries(fields).map(
  ([name, words]) => [name as Field, new RegExp(`^[\\s>*]*(?:${words})\\s*\\*?\\s*[:：]`, 'iu')] as const,
)
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

function fieldOf(line: string): Field | undefined {
  if (line.length > 2000) return undefined
  return fieldLines.find(([, form]) => form.test(line))?.[0]
}

const original = [
  'original message|original appointment|ursprüngliche nachricht|originalnachricht|original-nachricht|original-?mail',
  "message d['’]origine|message original|mensaje original|mensagem original|messaggio originale",
  'oorspronkelijk bericht|oprindelig meddelelse|opprinnelig melding|ursprungligt meddelande|alkuperäinen viesti',
  'wiadomość oryginalna|исходное сообщение|оригинальное сообщение|původní zpráva|eredeti üzenet|orijinal mesaj',
  '原始邮件|原始郵件|元のメッセージ|original 메시지|원본 메시지',
].join('|')
const originalLine = new RegExp(`^[\\s>]*[-_—]{2,}\\s*(?:${original})\\s*[-_—]*\\s*$`, 'iu')
const aboveLine = /^[\s>#=*_-]*(?:please )?(?:type|write|reply|add)\b.{0,40}\babove this line\b/iu

/** A line under which there is nothing but what was there before. */
export function isSeparator(line: string): boolean {
  return line.length < 200 && (originalLine.test(line) || aboveLine.test(line))
}
