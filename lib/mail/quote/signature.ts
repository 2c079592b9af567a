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

/** The lines above a signature (RFC 3676 §4.3), the footer of a list, the words of a device and a notice of secrecy. */
export function withoutSignature(lines: readonly string[]): string {
  const cut = lines.findIndex(
    (line, at) =>
      /^(?:--|—|–|---)\s*$/.test(line.trimStart()) ||
      (/^[_-]{20,}\s*$/.test(line) && lines.slice(at + 1, at + 4).some(next => footer.test(next))),
  )
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

/** A line across the page parts the text from what was left out below it. */
function isRule(line: string): boolean {
  return /^[\s*_=-]*$/.test(line)
}

function isNamed(lines: readonly string[]): boolean {
  return nameLine.test(lines.at(-1)!.trim()) && lines.length > 1 && lines.at(-2)!.trim() === ''
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
  if (above > 0 && card.length <= 8 && card.length >= 3 && isCard(card, 2)) return card.length
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
