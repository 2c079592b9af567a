import { codeNames, enterWords, otherNumberWords, sayingWords, signInStems, weakStems } from './code-words.ts'

const named = new RegExp(
  `(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}\\p{N}])(?:${codeNames})`,
  'giu',
)
const word = /[\p{L}\p{M}]+/gu
/** Whether there can be a name at all: most mail is not looked at word by word. */
const anyStem = new RegExp(
  `(?<!\\p{L})(?:pin|m?tan|otp|cod|mã)(?!\\p{L})|${weakStems.filter(stem => !['pin', 'tan', 'otp', 'cod', 'mã'].includes(stem)).join('|')}`,
  'iu',
)
/** Codes that let nobody in, by what stands before the name, in it, or behind it. */
const otherBefore =
  /\b(?:promo(?:tion)?|discount|coupon|voucher|gift(?: card)?|zip|postal|post|area|error|status|exit|return|country|product|referral|booking|tracking|order|source|qr|bar|swift|sort|tax|party|dress|check-?in|colou?r|build|machine|morse|course|iso|airport|iata|icao|penal|class|subject|module|batch|part|model|sku|item|article|stock|project|department|branch|store|plu|vat|ral|hex|cheat|genetic|conference|meeting|webinar|dial-?in|rabatt|gutschein|réduction|descuento|sconto|обмен[а-я]{0,5}|почтовый)[\s-]*$/iu
const otherInside =
  /promo|rabatt|gutschein|barcode|postleit|fehler|quell|unicode|(?<!\p{L})(?:encode|decode)|zipcode|codec|codex|скид|промо|opcode/iu
const otherBehind =
  /^\s{0,3}(?:postal|promo|de réduction|réduction|de descuento|descuento|sconto|fiscale|promocional|promozionale|de desconto|poszt|pocztowy|rabatowy|скидки|of\b|name\b|review|base\b|barre|is sent|was|problem|réduc|\d{1,8} (?:means?|to (?:the|a|an)|on the)\b)/iu

/** Letters that are written with spaces between words: a code is none of these words. */
const letters = '\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}'
const units =
  'usd|USD|eur|EUR|gbp|GBP|dollars?|euros?|kr|zł|р|руб|%|seconds?|sec|minutes?|min|hours?|days?|ms|sekunden|minuten|secondes|segundos|lines|people|points|guests|tests|bikes|btc|BTC'
const groups = [
  '\\d{2}[ -]\\d{2}(?:[ -]\\d{2}){0,2}',
  '\\d{3,4}[ -]\\d{2,4}',
  '\\d{3}-\\d{2}-\\d{2}',
  '\\d{4,8}',
  '(?=[A-Z0-9-]{0,10}\\d)(?=[A-Z0-9-]{0,10}[A-Z])[A-Z0-9]{2,5}-?[A-Z0-9]{2,5}',
  '(?=[A-Z0-9-]{0,12}\\d)(?=[A-Z0-9-]{0,12}[A-Z])[A-Z0-9]{2,4}(?:-[A-Z0-9]{2,4}){2}',
  '[A-Z]{3,4}-[A-Z]{3,4}',
  '(?=[A-Za-z0-9]{0,9}\\d)(?=[A-Za-z0-9]{0,9}[A-Z])(?=[A-Za-z0-9]{0,9}[a-z])[A-Za-z0-9]{6,10}',
  '(?=[a-z0-9]{0,8}\\d)(?=[a-z0-9]{0,8}[a-z])[a-z0-9]{5,8}',
  '[a-z]{3,12}(?:-[a-z]{3,12}){2,4}',
  '[A-Z]{5,8}',
].join('|')
/** Digits in one piece or in groups; letters and digits; letters in groups; words. */
const code = new RegExp(
  `(?<![${letters}\\p{N}_.,/@#+•=&?%$€£¥₹-])(?<!(?:[\\p{N}\\]]|\\.[a-z]{2,10}|localhost):)(?:[A-Z]-)?(${groups})(?![${letters}\\p{N}_@%$€£¥₹]|[.,:/-]\\d|[ -]\\d|-\\p{L}|\\s?(?:${units})(?!\\p{L})|\\s?(?:円|元|원|秒|分|号|ریال|ريال))`,
  'gu',
)
/** What stands before a number that is the number of something else. */
const otherNumber = new RegExp(
  `(?:\\b(?:order|invoice|ticket|case|ref(?:erence)?|account|customer|receipt|booking|reservation|flight|room|po|id|no|nr|num(?:ber|ero)?|card|phone|tel|call|fax|copyright|ending(?: in)?|ends(?: in| with)?|since|shipment|bill|version|issue|building|port|line|chapter|agent on)\\b\\.?[\\s#:№]*|(?:${otherNumberWords})[\\s#:：.№°º]*|[$€£¥₹#№©•+]\\s*|[*•xX]{2}[\\s-]*|card \\*|(?:usd|eur|gbp|inr|rs\\.?)\\s*|\\d[\\s.()-]{1,2})$`,
  'iu',
)
/** `Never type 1234 …`: one that is warned of. */
const negated = /(?<!\p{L})(?:never|not|don['’]t|jamais|nunca|niemals) (?:\p{L}{1,15} ){1,2}$/iu
/** Of these the numbers that are codes. */
const codeNumber = /\b(?:verification|security|confirmation|authentication) number\s{1,3}$/i
/** Words that say of what follows that it is the code. */
const saying = new RegExp(`(?:[:：=–—-]|(?<![\\p{L}\\p{M}])(?:${sayingWords}))$`, 'iu')
const sayingBefore = new RegExp(`^[\\s"'”»」】)\\]]*(?:[:：=–—-]|(?:${sayingWords})(?![\\p{L}\\p{M}]))`, 'iu')
const enters = new RegExp(`(?<![\\p{L}\\p{M}])(?:${enterWords})\\s{1,3}$`, 'iu')
/** Where one is asked to type in digits, and what they are for: then they need no name. */
const asks = new RegExp(`(?<![\\p{L}\\p{M}])(?:${enterWords})\\s{1,3}["'“«*]{0,3}\\d`, 'iu')
const forSignIn = new RegExp(
  `^["'”»*]{0,3}\\s(?:to|in order to|on|um|pour|para|per|om|för att|for at|for å|aby|чтобы|щоб)\\s(?:[\\p{L}'’-]{1,20},?\\s){0,4}(?:${signInStems})`,
  'iu',
)
/** What stands around a code that makes things cheaper. */
const ofSales =
  /checkout|% off|\d ?%|discount|voucher|coupon|rabat|korting|réduction|descuento|sconto|desconto|скидк|promo/iu
/** Words in capitals that are said of a code and are none. */
const noCode =
  /^(?:expired?|invalid|required|incorrect|wrong|below|ready|secret|private|important|attached|needed|never|please|valid|confidential|example)$/i
const single = /(?<!\p{N}[ \t\n]?)(?<!\p{L})\d(?:[ \t\n]{1,3}\d){3,7}(?![ \t]?\p{N})/gu
const read = 20_000
const linked = 60
/** The same where a word says that it is the code. */
const linkedSaid = 120
const apart = 250
/** How far apart a name that may be of anything, and its code on a line of its own, may stand. */
const apartWeak = 120
/** How far from the ends of its line a code may stand that is alone on it. */
const margin = 200

/**
 * The one-time code that a message was sent to bring, without the spaces and hyphens between its groups. Precise before
 * complete: a number is one only next to words that call it so; of two that differ it is neither.
 */
export function findOtp(message: { readonly subject: string; readonly text: string }): string | null {
  const raw = `${message.subject.slice(0, 1000)}\n\n${message.text.slice(0, read)}`
  const isAsked = asks.test(raw)
  if (!isAsked && !anyStem.test(raw)) return null
  const text = plainDigits(raw)
  const codes = [...text.matchAll(code)].filter(match => mayBeCode(text, match)).map(one => placed(text, one))
  if (codes.length === 0) return null
  const strong = namesIn(text.matchAll(named), text)
  // What is called by words that nothing else is called counts before what is only called a code.
  let found = onlyCode(text, strong, codes, true)
  if (found === undefined) found = onlyCode(text, weakNames(text), codes, false)
  return found === undefined && isAsked ? askedCode(text, codes) : (found ?? null)
}

/** What is to be typed in so as to sign in or confirm, where nothing calls it a code. */
function askedCode(text: string, codes: readonly PlacedCode[]): string | null {
  const asked = codes.filter(
    ({ from, to, isSure }) =>
      isSure &&
      enters.test(text.slice(Math.max(0, from - 40), from).replace(/["'“«*]{1,3}$/, '')) &&
      forSignIn.test(text.slice(to, to + 100)),
  )
  const [value] = new Set(asked.map(one => plain(one.value)))
  return value !== undefined && asked.every(one => plain(one.value) === value) ? value : null
}

interface Name {
  readonly from: number
  readonly to: number
}

function namesIn(found: Iterable<RegExpExecArray>, text: string): Name[] {
  return [...found]
    .map(({ 0: words, index }) => ({ from: index, to: index + words.length }))
    .filter(one => !isOtherCode(text, one))
}

/** Words that mean a code of whatever kind, also as the end of a longer word: `Einmalcode`, `koden`. */
function weakNames(text: string): Name[] {
  const found = [...text.matchAll(word)].filter(({ 0: one }) => one.length <= 30 && isStem(one.toLowerCase()))
  return namesIn(found, text)
}

const stems = weakStems.map(stem => stem.toLowerCase())
const wholeStems = new Set(stems)

function isStem(lower: string): boolean {
  if (wholeStems.has(lower)) return true
  // With an ending of at most three letters behind it.
  return stems.some(stem => {
    const at = stem.length < 4 && !/[\p{Script=Han}コ코]/u.test(stem) ? -1 : lower.lastIndexOf(stem)
    return at >= 0 && lower.length - at - stem.length <= 4
  })
}

function onlyCode(text: string, names: readonly Name[], codes: readonly PlacedCode[], isStrong: boolean) {
  const found = new Set<string>()
  // Both are in the order of the text: what is too far before one name is so for the next.
  let near = 0
  for (const one of names) {
    while (near < codes.length && one.from - codes[near]!.to > linked) near++
    const value = codeOf(text, one, codes, near, isStrong)
    if (value !== undefined) found.add(value)
  }
  if (!isStrong && names.length > 0) {
    for (const { value, from } of codes)
      if (enters.test(text.slice(Math.max(0, from - 40), from))) found.add(plain(value))
  }
  const [value] = found
  return found.size === 1 ? value! : found.size > 1 ? null : undefined
}

/** Digits of other scripts as ours, no marks of direction, one kind of hyphen, and digits that stand alone put together. */
function plainDigits(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u2069]/g, '')
    .replace(/\u00a0/g, ' ')
    .replace(/[٠-٩۰-۹０-９०-९]/gu, digit => String((digit.codePointAt(0)! - digitZero(digit)) % 10))
    .replace(/(?<=[\dA-Z])[‐‑–](?=[\dA-Z])/g, '-')
    .replace(single, digits => digits.replace(/\s+/g, ''))
}

function digitZero(digit: string): number {
  const at = digit.codePointAt(0)!
  return at >= 0xff10 ? 0xff10 : at >= 0x966 ? 0x966 : at >= 0x6f0 ? 0x6f0 : 0x660
}

function isOtherCode(text: string, { from, to }: Name): boolean {
  const words = text.slice(from, to)
  if (otherInside.test(words) || otherBehind.test(text.slice(to, to + 30))) return true
  const before = `${text.slice(Math.max(0, from - 40), from)}${words}`
  return otherBefore.test(before.replace(/(?:pass-?code|code|pin)$/i, ''))
}

function mayBeCode(text: string, { 0: whole, 1: value = '', index }: RegExpExecArray): boolean {
  const before = text.slice(Math.max(0, index - 30), index)
  if (negated.test(before)) return false
  const isBold = /\*\*\s*$/.test(before) && /^\s*\*\*/.test(text.slice(index + whole.length))
  if (!isBold && otherNumber.test(before) && !codeNumber.test(before)) return false
  const around = text.slice(Math.max(0, index - 80), index + whole.length + 80)
  return !(/[A-Z]/i.test(value) && ofSales.test(around))
}

interface PlacedCode {
  readonly value: string
  readonly from: number
  readonly to: number
  /** Nothing else is said on its line. */
  readonly isAlone: boolean
  /** Whether its form says that it is no word, and no year. */
  readonly isSure: boolean
}

/** Each code is looked at once, however many names stand around it. */
function placed(text: string, { 0: whole, 1: value = '', index: from }: RegExpExecArray): PlacedCode {
  const to = from + whole.length
  const isSure = /^\d/.test(value) && /\d{2}/.test(value) && !isYear(value) && !/[A-Za-z]/.test(value)
  return { value, from, to, isAlone: standsAlone(text, from, to), isSure }
}

/** The code that this name speaks of: linked to it in one sentence, or below it on a line of its own. */
function codeOf(
  text: string,
  { from: start, to: end }: Name,
  codes: readonly PlacedCode[],
  near: number,
  isStrong: boolean,
): string | undefined {
  for (let at = near; at < codes.length && codes[at]!.from - end <= apart; at++) {
    const { value, from, to, isAlone, isSure } = codes[at]!
    if (from >= end) {
      if (isAlone && (isStrong || from - end <= apartWeak) && isWritten(text, value, to)) return plain(value)
      if (from - end > (isStrong ? linkedSaid : linked)) continue
      const between = text.slice(end, from)
      if (!isOneSentence(between)) continue
      const isSaid = isSaidOf(between) || (isNextTo(between) && !isYear(value))
      if (!isSaid && from - end > linked) continue
      if (isSaid ? isWritten(text, value, to) : isSure && (isStrong || isNextTo(between))) {
        return plain(value)
      }
    }
    if (to <= start && start - to <= linked && isSure) {
      const between = text.slice(to, start)
      if (
        !/[.!?。！？\n]/.test(between) &&
        (isStrong || (between.length <= 30 && sayingBefore.test(between)))
      ) {
        return plain(value)
      }
    }
  }
  return undefined
}

/** Letters alone, and words, are a code only where their sentence or line ends with them. */
function isWritten(text: string, value: string, to: number): boolean {
  if (/\d/.test(value)) return true
  return !noCode.test(value) && /^["'”»」*]{0,3}(?:[.!\n]|\s{0,30}$|\s+\n|\. )/.test(text.slice(to, to + 40))
}

/** Nothing that ends a sentence, and no paragraph, stands between. */
function isOneSentence(between: string): boolean {
  return !/[.!?。！？]\s/.test(between) && !/\n[^\S\n]*\n/.test(between.trimEnd())
}

/** Nothing but the opening of a quote stands between. */
function isNextTo(between: string): boolean {
  return /^[\s"'*“«「【[(]*$/.test(between)
}

function isYear(value: string): boolean {
  return /^(?:19|20)\d\d$/.test(value)
}

function isSaidOf(between: string): boolean {
  let end = between.length
  while (/[\s"'*“«「【[(]/.test(between.charAt(end - 1))) end--
  return saying.test(between.slice(Math.max(0, end - 20), end))
}

function standsAlone(text: string, from: number, to: number): boolean {
  const [before = ''] = text
    .slice(Math.max(0, from - margin), from)
    .split('\n')
    .slice(-1)
  const [behind = ''] = text.slice(to, to + margin).split('\n', 1)
  const isNear = before.length < margin && behind.length < margin
  return isNear && !/[\p{L}\p{N}]/u.test(before + behind)
}

/** Hyphens between words are part of a code of words. */
function plain(value: string): string {
  return /^[a-z]+-[a-z]+-/.test(value) ? value : value.replaceAll(/[ -]/g, '')
}
