import {
  codeNames,
  enterWords,
  lifetimeWords,
  linkWords,
  nameStems,
  otherKindWords,
  otherNumberWords,
  placeWords,
  sayingWords,
  signInStems,
  weakStems,
  yourBehind,
  yourWords,
} from './code-words.ts'
import { isProgramText } from './program-words.ts'

const notInWord = '(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}\\p{N}])'
const named = new RegExp(`${notInWord}(?:${codeNames})`, 'giu')
/** Whole words. Japanese, Chinese and Korean write none between a name and what follows, but what is before it makes it another. */
const asian = /[\p{Script=Han}\p{Script=Katakana}\p{Script=Hangul}]/u
const weak = new RegExp(
  [
    `(?<![\\p{L}\\p{M}\\p{N}_])(?:${weakStems.filter(stem => !asian.test(stem)).join('|')})(?![\\p{L}\\p{M}_]|-\\p{L})`,
    `(?<![\\p{L}\\p{M}\\p{N}]|[\\p{L}] )(?:この|本|次の|以下の|下記の|上記の|此|该|您的|你的|以下|이 |아래 |다음 )?(?:${weakStems.filter(stem => asian.test(stem)).join('|')})`,
  ].join('|'),
  'giu',
)
/** Most mail has none, which is found in a tenth of the time of names. Of words such as `important` none counts. */
const anyStem = new RegExp(nameStems.map(one => (one === 'tan' ? 'tan(?!\\p{L})' : one)).join('|'), 'u')
const anyName = new RegExp(`${notInWord}(?:${codeNames})|${weak.source}`, 'iu')
/** Codes that let nobody in, by what is before the name, in it, or behind it. */
const otherBefore = new RegExp(`(?<![\\p{L}\\p{M}])(?:${otherKindWords})[ -]{0,3}$`, 'iu')
const otherInside =
  /promo|rabatt|gutschein|barcode|postleit|fehler|quell|unicode|(?<!\p{L})(?:encode|decode)|zipcode|codec|codex|скид|промо|opcode/iu
const otherBehind = new RegExp(
  `^\\s{0,3}(?:(?:de(?:s|l| la| l['’]| los)?|d['’]|di|du|da|do|der|des) ?)?(?:l['’])?(?:${otherKindWords}|réduction|poszt|réduc)(?![\\p{L}\\p{M}])`,
  'iu',
)
const otherSentence =
  /^\s{0,3}(?:of\b|name\b|review|base\b|is sent|was|problem|lock\b|page\b|word\b|\d{1,8} (?:means?|to (?:the|a|an)|on the)\b)/iu
/** Names under which meetings and doors are opened, too, and what is said around them. */
const ofPlaces =
  /access|pass-?code|pin|security|temporary|activation|zugang|aktivierung|sicherheit|accès|acceso|accesso|acesso|acc[eé]s|toegang|adgang|tilgang|åtkomst|dostępu|доступ|giriş|الدخول|ورود|כניסה|confirmation/i
/** Names that programs use, and hardly ever for a door or a meeting. */
const ofPrograms = /verification|security|confirmation|authentication|authorization|sign-?in|log-?in|2fa|mfa/i
/** A confirmation code that is the number of a booking. */
const booking = /reserv|itinerar|booking|booked/i
const places = new RegExp(
  `(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}])(?:${placeWords})`,
  'iu',
)
const lifetime = new RegExp(lifetimeWords, 'iu')
/** `Type this code`, `geben Sie den folgenden Code ein`; `enter code`, and not `use code`, which people say of what opens a door. */
const stem = `(?:${weakStems.join('|')})(?![\\p{L}\\p{M}])`
const demand = new RegExp(
  `(?<![\\p{L}\\p{M}])(?:(?:${enterWords})\\s{1,3}[\\p{L}]{1,15}\\s{1,3}(?:[\\p{L}\\d-]{1,15}\\s{1,3}){0,2}|(?:enter|type in|type|wpisz|введите|введіть|zadejte|zadajte|introduce|ingresa|digite|insira|inserisci|saisissez|entrez|girin)\\s{1,3})${stem}`,
  'iu',
)
/** Of what a message speaks that brings a code, when its subject says so. */
const signingIn = new RegExp(
  `(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}])(?:${linkWords}|sign[- ]?up|regist|approv|two-factor|2fa|mfa|pass-?code|unlock)|${codeNames}|^code:`,
  'iu',
)
const isBehindYour = new RegExp(`^\\s{1,3}(?:${yourBehind})(?![\\p{L}\\p{M}])`, 'iu')

/** Letters that are written with spaces between words: a code is none of these words. */
const letters = '\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}'
const units =
  'usd|USD|eur|EUR|gbp|GBP|dollars?|euros?|kr|zł|р|руб|%|seconds?|sec|minutes?|min|hours?|days?|ms|sekunden|minuten|secondes|segundos|lines|people|points|guests|tests|bikes|btc|BTC'
const groups = [
  '\\d{2}[ -]\\d{2}(?:[ -]\\d{2}){0,2}',
  '\\d{2,4}[ -]\\d{2,4}',
  '\\d{3}-\\d{2}-\\d{2}',
  '\\d{4,8}',
  '(?=[A-Z0-9-]{0,10}\\d)(?=[A-Z0-9-]{0,10}[A-Z])[A-Z0-9]{2,5}-?[A-Z0-9]{2,5}',
  '(?=[A-Z0-9-]{0,12}\\d)(?=[A-Z0-9-]{0,12}[A-Z])[A-Z0-9]{2,4}(?:-[A-Z0-9]{2,4}){2}',
  '[A-Z]{3,4}-[A-Z]{3,4}',
  '(?=[A-Za-z0-9]{0,9}\\d)(?=[A-Za-z0-9]{0,9}[A-Z])(?=[A-Za-z0-9]{0,9}[a-z])[A-Za-z0-9]{4,10}',
  '(?=[a-z0-9]{0,8}\\d)(?=[a-z0-9]{0,8}[a-z])[a-z0-9]{4,8}',
  '[a-z]{3,12}(?:-[a-z]{3,12}){2,4}',
  '[A-Z]{5,8}',
].join('|')
/** Digits in one piece or in groups; letters and digits; letters in groups; words. */
const code = new RegExp(
  `(?<![${letters}\\p{N}_.,/@#+•=&?%$€£¥₹-])(?<!(?:[\\p{N}\\]]|\\.[a-z]{2,10}|localhost):)(?:[A-Z]-)?(${groups})(?![${letters}\\p{N}_@%#$€£¥₹]|[.,:/-]\\d|[ -]\\d|-\\p{L}|\\s?(?:${units})(?!\\p{L})|\\s?(?:円|元|원|秒|分|号|ریال|ريال))`,
  'gu',
)
/** What stands before a number that is the number of something else. */
const otherNumber = new RegExp(
  `(?:\\b(?:order|invoice|ticket|case|ref(?:erence)?|account|customer|receipt|booking|reservation|flight|room|po|id|no|nr|num(?:ber|ero)?|card|phone|tel|call|fax|copyright|ending(?: in)?|ends(?: in| with)?|since|shipment|bill|version|issue|building|port|line|chapter|agent on)\\b(?:\\.[ #:№]*|[\\s#:№]*)|(?:${otherNumberWords})[\\s#:：.№°º]*|[$€£¥₹#№©•+]\\s*|[*•xX]{2}[\\s-]*|card \\*|(?:usd|eur|gbp|inr|rs\\.?)\\s*|\\d[ .()-]{1,2})$`,
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
/**
 * Where one is asked to type in digits, and what they are for: then they need no name. It begins with the digit, for which V8
 * searches far faster than for words.
 */
const asks = new RegExp(`\\d(?<=(?<![\\p{L}\\p{M}])(?:${enterWords})\\s{1,3}["'“«*]{0,3}\\d)`, 'iu')
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
 * Returns the one-time code that a message was sent to bring, without the spaces and hyphens between its groups. Precise
 * before complete: a number is one only next to a name that nothing else has (`verification code`), or next to a name of
 * many things (`code`, `PIN`) in a message that a program wrote. Of two codes that differ it returns neither.
 */
export function findOtp(message: {
  readonly subject: string
  readonly text: string
  /** Whether header or envelope say that a program wrote it. */
  readonly isFromProgram?: boolean
}): string | null {
  const raw = plainLetters(`${message.subject.slice(0, 1000)}\n\n${message.text.slice(0, read)}`)
  const isAsked = asks.test(raw)
  if (!isAsked && !(anyStem.test(raw.toLowerCase()) && anyName.test(raw))) return null
  const text = plainDigits(raw)
  const codes = [...text.matchAll(code)].filter(match => mayBeCode(text, match)).map(one => placed(text, one))
  if (codes.length === 0) return null
  // What is called by words that nothing else is called counts before what is only called a code.
  let found = onlyCode(text, strongNames(text, message.isFromProgram ?? false), codes, true)
  if (found === undefined) {
    const isFromProgram =
      message.isFromProgram ||
      signingIn.test(message.subject.slice(0, 1000)) ||
      purpose.test(text) ||
      lifetime.test(text) ||
      demand.test(text) ||
      isProgramText(text)
    const names = weakNames(text).filter(one => isFromProgram || isYours(text, one))
    found = onlyCode(text, names, codes, false)
  }
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

function namesIn(text: string, names: RegExp): Name[] {
  return [...text.matchAll(names)].map(({ 0: words, index }) => ({ from: index, to: index + words.length }))
}

function strongNames(text: string, isFromProgram: boolean): Name[] {
  return namesIn(text, named).filter(one => !isOtherCode(text, one) && !isOfPlace(text, one, isFromProgram))
}

/** Words that mean a code of whatever kind. */
function weakNames(text: string): Name[] {
  return namesIn(text, weak).filter(
    one =>
      !isOtherCode(text, one) &&
      !otherBefore.test(text.slice(Math.max(0, one.from - 40), one.from)) &&
      !otherBehind.test(text.slice(one.to, one.to + 40)) &&
      !isOfPlace(text, one, false),
  )
}

/** In a text that says what the code is for. */
const purpose =
  /\b(?:(?:confirm|verify|unlock|activate) your (?:e-?mail|account|identity|phone|number|device|address)|(?:logging|signing) in to|to (?:log|sign) in)\b/i

/** Whether it is called the reader's: `your code`, `dein Nimbus-Code`, `kode Anda`. People write so of a code that they give away, too (isOfPlace). */
function isYours(text: string, { from, to }: Name): boolean {
  if (
    isBehindYour.test(text.slice(to, to + 20)) ||
    /^(?:kodunuz|şifreniz|koodisi|kódod|رمزك|您的|你的)/iu.test(text.slice(from, to))
  )
    return true
  const before = text.slice(Math.max(0, from - 40), from)
  const [, word = ''] =
    /(?<![\p{L}\p{M}])([\p{L}\p{M}]{2,9}) {1,3}(?:\p{Lu}[\p{L}\d.]{0,20}(?:-\p{Lu}\p{L}{0,20})?[ -])?$/u.exec(
      before,
    ) ?? []
  return yourWords.has(word.toLowerCase())
}

function onlyCode(text: string, names: readonly Name[], codes: readonly PlacedCode[], isStrong: boolean) {
  const found: Found[] = []
  // Both are in the order of the text: what is too far before one name is so for the next.
  let near = 0
  for (const one of names) {
    while (near < codes.length && one.from - codes[near]!.to > linked) near++
    const value = codeOf(text, one, codes, near, isStrong)
    if (value !== undefined) found.push(value)
  }
  if (!isStrong && names.length > 0) {
    for (const { value, from } of codes)
      if (enters.test(text.slice(Math.max(0, from - 40), from)))
        found.push({ value: plain(value), isSaid: true })
  }
  // A number that words call the code counts before one that is only in its sentence.
  const said = found.some(one => one.isSaid) ? found.filter(one => one.isSaid) : found
  const values = new Set(said.map(one => one.value))
  const [value] = values
  return values.size === 1 ? value! : values.size > 1 ? null : undefined
}

interface Found {
  readonly value: string
  /** Whether words or its place say that it is the code, and not only that it is in one sentence with the name. */
  readonly isSaid: boolean
}

/** No marks that are not seen, and one kind of space. */
function plainLetters(text: string): string {
  const lines = text.replaceAll('\r\n', '\n')
  if (!/[\u00a0-\uffff]/.test(lines)) return lines
  return lines
    .replace(/[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, '')
    .replace(/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, ' ')
}

/** Digits of other scripts as ours, one kind of hyphen, and digits that stand alone put together. */
function plainDigits(text: string): string {
  return text
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
  const behind = text.slice(to, to + 40)
  // An Indian postal code is called PIN code.
  if (/^pin$/i.test(words) && /^[ -]?code/i.test(behind)) return true
  return otherInside.test(words) || otherSentence.test(behind)
}

/** Whether the sentence of a name says that the code opens a door or a meeting. The next sentence may be a signature. */
function isOfPlace(text: string, { from, to }: Name, isFromProgram: boolean): boolean {
  const words = text.slice(from, to)
  if (
    words.length > 12
      ? !ofPlaces.test(words)
      : !ofPlaces.test(words) && !/^\P{Lu}{0,1}\p{L}{0,12}$/u.test(words)
  )
    return false
  const before = text
    .slice(Math.max(0, from - 160), from)
    .split(sentenceEnd)
    .at(-1)!
  const behind = text.slice(to, to + 80).split(sentenceEnd, 1)[0]!
  if (isFromProgram && ofPrograms.test(words) && !booking.test(before + behind)) return false
  return places.test(before) || places.test(behind)
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

/** The code that this name speaks of: linked to it in one sentence, or above or below it on a line of its own. */
function codeOf(
  text: string,
  { from: start, to: end }: Name,
  codes: readonly PlacedCode[],
  near: number,
  isStrong: boolean,
): Found | undefined {
  let inSentence: Found | undefined
  for (let at = near; at < codes.length && codes[at]!.from - end <= apart; at++) {
    const { value, from, to, isAlone, isSure } = codes[at]!
    const said = { value: plain(value), isSaid: true }
    if (from >= end) {
      if (isAlone && (isStrong || from - end <= apartWeak) && isWritten(text, value, to)) return said
      if (from - end > (isStrong ? linkedSaid : linked)) continue
      const between = text.slice(end, from)
      if (!isOneSentence(between)) continue
      if (isSaidOf(between) || (isNextTo(between) && !isYear(value))) {
        if (isWritten(text, value, to)) return said
        continue
      }
      if (from - end <= linked && isSure && isStrong && !ofThing.test(between))
        inSentence ??= { ...said, isSaid: false }
    }
    if (to <= start && start - to <= linked && isSure) {
      const between = text.slice(to, start)
      const isAbove = isAlone && /^[^\S\n]*\n/.test(between) && !/[.!?。！？]/.test(between)
      if (isAbove) return said
      if (
        !/[.!?。！？\n]/.test(between) &&
        (isStrong || (between.length <= 30 && sayingBefore.test(between)))
      ) {
        return said
      }
    }
  }
  return inSentence
}

/** `… for licence`: the number behind it is the number of that. */
const ofThing =
  /(?<!\p{L})(?:for|of|für|pour|para|per|voor|för|for|til|dla|для|за|için) (?:\p{L}{1,20}[ .]{1,2}){1,2}$/iu

/** Letters alone, and words, are a code only where their sentence or line ends with them. */
function isWritten(text: string, value: string, to: number): boolean {
  if (/\d/.test(value)) return true
  return !noCode.test(value) && /^["'”»」*]{0,3}(?:[.!\n]|\s{0,30}$|\s+\n|\. )/.test(text.slice(to, to + 40))
}

/** The end of a sentence or of a paragraph. */
const sentenceEnd = /[.!?。！？]\s|\n[^\S\n]{0,20}\n/

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
