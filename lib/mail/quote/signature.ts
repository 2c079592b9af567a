import { formsOf } from './forms.ts'

const sentFrom = formsOf('sentFrom')
/** By their first characters, so that few are compared. */
const sentFromByStart = Map.groupBy(sentFrom, form => form.slice(0, 2))
const apology =
  /^[\s–-]*(?:please )?(?:excuse|pardon|forgive|sorry|apolog|entschuldig|verzeih|désolé|excuse[rz]|veuillez|disculp|desculp|perdon|scus[ai]|простите|извините|вибачте|omluvte|ospravedl|undskyld|beklager|unnskyld|ursäkta|pahoittelut|bocs|elnézést)/iu
/** Some say behind it what to do there: `Outlook für Android<https://…> beziehen`. */
const webLink = /^[\s<([]*https?:\/\/\S+(?:\s{1,3}\p{L}{1,20}){0,2}$/iu
/** `-Ann Lee`, as a last line below a blank one. */
const nameLine = /^[-–—~]\s?\p{Lu}[\p{L}.'-]*(?: \p{Lu}[\p{L}.'-]*){0,3}$/u
const footer = /mailing list|listinfo|unsubscribe|mailman|google groups/i
/** Lines that programs add, whole. */
const added =
  /^(?:you received this (?:message|email) because you are subscribed to|to unsubscribe from this (?:group|list|topic)|this (?:e-?mail|message) (?:has been|was) (?:checked for viruses|scanned)|diese e-?mail wurde (?:von avast|auf viren)|cet e-?mail a été vérifié|please consider the environment|p think before you print|save a tree)/iu

/** What a notice at the end of a message speaks of: that it is secret, and whom it is for. */
const secret =
  /confidential|privileged|vertraulich|confidentiel|confidencial|riservat|vertrouwelijk|fortrolig|konfidenti|poufn|důvěrn|dôvern|конфиденциальн|конфіденційн|bizalmas|gizli|luottamuksell|εμπιστευτικ|機密|机密|保密|秘密|기밀|disclaimer/iu
const meant =
  /intended (?:only |solely |exclusively )?(?:for|recipient)|intended recipient|addressee|received (?:this|it)[^.]{0,40}(?:in error|by mistake)|empfänger|adressat|irrtümlich|destinataire|par erreur|destinatari|por error|por engano|per errore|ontvanger|geadresseerde|modtager|mottaker|mottagar|vastaanottaja|adresat|odbiorc|příjemc|получател|адресат|címzett|alıcı|παραλήπτ|受信者|收件人|接收者|수신/iu
/** The least that such a notice has. */
const noticeLength = 80

/** Returns the lines above a signature, the footer of a list, the words of a device and a notice of secrecy. */
export function withoutSignature(lines: readonly string[]): string {
  const cut = signatureStart(lines)
  const kept = cut < 0 ? [...lines] : lines.slice(0, cut)
  for (;;) {
    while (kept.length > 0 && isRule(kept.at(-1)!)) kept.pop()
    if (kept.length === 0) return ''
    if (isNamed(kept) || isAdded(kept.at(-1)!.trim())) kept.pop()
    else if (!dropNotice(kept)) break
  }
  const card = contactLines(kept)
  if (card > 0) kept.splice(-card)
  return kept
    .join('\n')
    .replace(/^\s*\n/, '')
    .trim()
}

const mark = /^\s{0,3}(-- ?|—|–|-{3,4}|_{2,19})\s*$/
/** Lines and characters of a signature, at most: below the mark of RFC 3676 §4.3, and below any other rule. */
const markedLines = 15
const markedLength = 1000
const ruledLines = 8
const ruledLength = 400
/** Rules that are looked at, from the end. */
const rulesRead = 10

/** The line of the rule above a signature that ends the message; -1 for none. */
function signatureStart(lines: readonly string[]): number {
  const rules: number[] = []
  for (let at = lines.length - 1; at >= 0 && rules.length < rulesRead; at--) {
    if (mark.test(lines[at]!) || isFooterRule(lines, at)) rules.unshift(at)
  }
  const isRuled = lines.filter(line => mark.test(line) && !isMark(line)).length > 1
  return (
    rules.find(at => {
      const below = lines.slice(at + 1).filter((_, index) => index <= 4 * cardLines)
      if (at + 1 + below.length < lines.length) return false
      if (isFooterRule(lines, at)) return linesIn(below) <= markedLines
      return isMark(lines[at]!) ? isMarked(below) : isRuledOff(lines[at]!.trim(), below, isRuled)
    }) ?? -1
  )
}

/** `-- `, the mark of RFC 3676 §4.3. */
function isMark(line: string): boolean {
  return /^-- \s*$/.test(line)
}

function isFooterRule(lines: readonly string[], at: number): boolean {
  return /^[_-]{20,}\s*$/.test(lines[at]!) && lines.slice(at + 1, at + 4).some(next => footer.test(next))
}

function linesIn(lines: readonly string[]): number {
  return lines.filter(line => line.trim() !== '').length
}

/** The paragraphs, without notices and what programs add. */
function ownParagraphs(lines: readonly string[]): string[][] {
  const paragraphs: string[][] = [[]]
  for (const line of lines) {
    if (line.trim() === '') paragraphs.push([])
    else if (!isAdded(line.trim()) && !isRule(line)) paragraphs.at(-1)!.push(line.trim())
  }
  return paragraphs.filter(own => {
    const said = own.join(' ').slice(0, 2000)
    return own.length > 0 && !(secret.test(said) || meant.test(said)) && !footer.test(said)
  })
}

/** Whether what is below `-- ` is short, and at most one paragraph of it is prose: a sender may close with a quotation. */
function isMarked(below: readonly string[]): boolean {
  const paragraphs = ownParagraphs(below)
  const said = paragraphs.flat()
  const prose = paragraphs.filter(
    own => own.join(' ').length > 80 && /[.!?。！？]["')\]]?$/u.test(own.at(-1)!),
  )
  return said.length <= markedLines && said.join(' ').length <= markedLength && prose.length <= 1
}

/** `**Summary**`, `# Summary`, `- lamp`, `1. lamp`, `> text`, `| a | b |`, `diff --git`, ` file | 2 +-`: nothing of these is in a signature. */
const structured = /^(?:\*\*|#|[-*+•]\s|\d{1,3}[.)]\s|>|\||```|diff |@@ |\+\+\+ |index )|\s\|\s+\d+ [+-]/
/** A field of a form, and not a way to reach somebody: `Name: Ann`. */
const field = /^[\p{L}\p{M} ()/-]{1,40}:/u
const reachLabel =
  /^[^\p{L}]{0,8}(?:t|p|m|f|e|w|tel|telephone|phone|mob|mobile|mobil|cell|fax|e-?mail|mail|web|website|site|url|skype|signal|telegram|https?|fon|handy|portable|courriel|correo|teléfono|móvil|telefon|telefono|телефон|тел|моб|почта|сайт|电话|手机|邮箱|電話|전화|이메일)(?!\p{L})[^:]{0,12}:/iu
/** A name or a title: few words, the first with a capital or in a script without them, and no sentence. */
const named = /^[*_]?[\p{Lu}\p{Lo}][\p{L}\p{M}.,'’&/()-]*(?:\s[\p{L}\p{M}.,'’&/()-]+){0,5}[*_]?$/u

/**
 * Whether what is below another rule is a signature by its looks: short lines that begin with a name directly below the
 * rule, or hold a way to reach somebody.
 * @param isDivided whether such rules divide the text: then a way to reach somebody has to be among the lines
 */
function isRuledOff(rule: string, below: readonly string[], isDivided: boolean): boolean {
  const paragraphs = ownParagraphs(below)
  const said = paragraphs.flat()
  if (said.length === 0) return true
  if (said.length > ruledLines || said.join(' ').length > ruledLength) return false
  const isField = (line: string) => field.test(line) && !reachLabel.test(line)
  if (said.some(line => line.length > 100 || structured.test(line) || isField(line) || isSentence(line)))
    return false
  const first = said[0]!
  const isNamedFirst = named.test(first) && !/[.!?]$/.test(first)
  const isNext = (below[0] ?? '').trim() !== ''
  if (said.some(hasReach))
    return isNext ? isNamedFirst || hasReach(first) : isNamedFirst && paragraphs[0]!.length > 1
  if (isDivided || !isNext || paragraphs.length > 2 || said.length > 4) return false
  // Many programs take the space off `-- `.
  if (rule === '--' && said.length <= 2 && said.every(line => line.length <= 60)) return true
  return isNamedFirst && !isHeading(first) && said.every(line => !/^\p{Ll}/u.test(line))
}

/** `WHO ASKS` */
function isHeading(line: string): boolean {
  return line.length > 3 && line === line.toUpperCase() && line !== line.toLowerCase()
}

function isSentence(line: string): boolean {
  return /[.!?。！？]["')\]]?$/u.test(line) && (line.split(/\s+/).length >= 4 || /[。！？]$/u.test(line))
}

/** Whether an address, a link or a number to call is in a line. */
function hasReach(line: string): boolean {
  return (
    /\S@[^\s@]{1,255}|https?:\/\/|\bwww\./i.test(line) || isContact(line) || /\+\d[\d ()./-]{6,}/.test(line)
  )
}

/** A line across the page parts the text from what was left out below it. */
function isRule(line: string): boolean {
  return /^[\s*_=-]*$/.test(line)
}

/** `-Ann Lee`, and no item of a list. */
function isNamed(lines: readonly string[]): boolean {
  if (!nameLine.test(lines.at(-1)!.trim()) || lines.length < 2 || lines.at(-2)!.trim() !== '') return false
  const above = lines.findLast((line, at) => at < lines.length - 1 && line.trim() !== '') ?? ''
  return !/[:：]\s*$/u.test(above) && !/^\s*[-*+•–—]\s/u.test(above)
}

/** Whether a device, a program or a list added the line. */
function isAdded(line: string): boolean {
  return line.length < 300 && (added.test(line) || isOfDevice(line.replaceAll(/[*<>[\]()]/g, ' ').trim()))
}

/** `Sent from my iPhone`: no sentence that begins alike, for nothing that parts one stands in it, or only an excuse. */
function isOfDevice(line: string): boolean {
  const lower = line.toLowerCase()
  const form = sentFromByStart.get(lower.slice(0, 2))?.find(start => lower.startsWith(start))
  if (form === undefined) return false
  const said = line.slice(form.length)
  const end = said.search(/[.!](?:\s|$)|\shttps?:|[,;:?]/)
  if (end < 0) return said.length <= 60
  const rest = said.slice(end + 1).trim()
  return (
    end <= 60 &&
    !/[,;:?]/.test(said[end]!) &&
    (rest === '' || apology.test(rest) || webLink.test(`h${rest}`) || webLink.test(rest))
  )
}

/** Takes the last paragraph off, if it is long and says that all is secret, and for whom; whether it did. */
function dropNotice(lines: string[]): boolean {
  const above = lines.findLastIndex(line => line.trim() === '')
  if (above < 0) return false
  const said = lines.slice(above + 1).join(' ')
  if (said.length < noticeLength || !(secret.test(said) && meant.test(said))) return false
  lines.splice(above)
  return true
}

/**
 * How many lines at the end are a card: a last paragraph of short lines, two of which are ways to reach someone, or all
 * that stands below a line across the page, if three of its lines are.
 */
function contactLines(lines: readonly string[]): number {
  const above = lines.findLastIndex(line => line.trim() === '')
  const card = lines.slice(above + 1)
  const lead = lines.findLast((line, at) => at < above && line.trim() !== '') ?? ''
  // What a line above announces, and the fields of a form, are what the sender wrote.
  const isOwn =
    /[:：]\s*$/u.test(lead) || card.some(line => field.test(line.trim()) && !reachLabel.test(line.trim()))
  if (above > 0 && card.length <= 8 && card.length >= 3 && !isOwn && isCard(card, 2)) return card.length
  const last = lines.slice(-cardLines)
  const rule = last.findLastIndex(line => /^\s*[-_=*]{5,}\s*$/.test(line))
  return rule >= 0 && isCard(last.slice(rule + 1), 3) ? last.length - rule : 0
}

/** Lines that are looked at below a rule. */
const cardLines = 30

function isCard(lines: readonly string[], contacts: number): boolean {
  return lines.every(line => line.trim().length <= 60) && lines.filter(isContact).length >= contacts
}

/** A way to reach someone, alone on its line or behind what it is called: `Tel: +1 555 010 9999`. */
function isContact(line: string): boolean {
  const said = line.trim()
  const label = /^\W*\w[\w-]*[:.]\s*/.exec(said)?.[0].length ?? 0
  return isReach(said) || isReach(said.slice(label))
}

function isReach(text: string): boolean {
  const bare = text.replace(/^\W+/, '')
  return (
    /^[^\s@]+@[^\s@]+\.\w+$/.test(bare) ||
    /^(?:https?:\/\/|www\.)\S+$/i.test(bare) ||
    /^\d[\d\s().-]{6,}$/.test(bare)
  )
}
