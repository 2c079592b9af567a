/** What codes are called, in the languages that they come in. */
const names = [
  // English
  '(?:verification|security|log-?in|sign-?in|access|confirmation|authentication|authorization|one[- ]time|single[- ]use|temporary|two-factor|2fa|mfa|otp|activation|auth|device)[- ](?:pass-?code|code|pin|password|number)',
  'otp|pass-?code|your (?:[\\w-]+ )?(?:code|pin)(?= (?:is|for|to)\\b|\\s*[:：])|(?:enter|use|type|copy) (?:the |this |the following |your )?(?:[\\w-]+ )?(?:code|pin)\\b',
  // German, Dutch, the North
  '(?:bestätigungs|sicherheits|verifizierungs|verifikations|anmelde|zugangs|aktivierungs|einmal|login|freischalt)-?(?:code|kennwort|passwort|pin)',
  '(?:verificatie|beveiligings|bevestigings|inlog|toegangs|activatie)code|eenmalige (?:code|pincode)',
  '(?:verifierings|säkerhets|engångs|bekräftelse|bekræftelses|bekreftelses|sikkerheds|sikkerhets|engangs|vahvistus|kertakäyttö)-?(?:kod|kode|koden|koodi)',
  // the Romance languages
  "code (?:de (?:vérification|sécurité|confirmation|connexion|validation)|d['’](?:accès|authentification|activation|identification)|à usage unique|temporaire|secret)",
  'código (?:de (?:verificación|seguridad|confirmación|acceso|inicio de sesión|un solo uso|activación|verificação|segurança|confirmação|acesso|uso único|ativação)|temporal|temporário)',
  'codice (?:di (?:verifica|sicurezza|conferma|accesso|attivazione)|monouso|temporaneo)|cod(?:ul)? de (?:verificare|securitate|confirmare)',
  // the Slavic languages, and others of Europe
  'kod (?:weryfikacyjny|bezpieczeństwa|potwierdzający|dostępu|jednorazowy|aktywacyjny|logowania)|(?:ověřovací|potvrzovací|overovací) kód|ellenőrző kód',
  'код (?:подтверждения|проверки|безопасности|доступа|для входа|входа|активации|авторизации|підтвердження)|одноразовый (?:код|пароль)',
  '(?:doğrulama|güvenlik|onay|giriş|erişim) kodu(?:nuz)?|κωδικός (?:επαλήθευσης|ασφαλείας|μίας χρήσης)',
  // Asia and the Near East
  '验证码|驗證碼|校验码|动态码|動態碼|安全码|安全碼|确认码|確認碼|动态密码|一次性密码|一次性密碼',
  '認証コード|確認コード|検証コード|セキュリティコード|ワンタイムパスワード|認証番号',
  '인증 ?번호|인증 ?코드|확인 ?코드|보안 ?코드|일회용 ?비밀번호',
  'mã (?:xác minh|xác nhận|xác thực|otp)|kode (?:verifikasi|otp|keamanan)|รหัสยืนยัน|सत्यापन कोड|ओटीपी',
  'رمز (?:التحقق|التأكيد|الدخول|الأمان)|קוד (?:אימות|כניסה|אבטחה)',
].join('|')
const name = new RegExp(
  `(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}\\p{N}])(?:${names})`,
  'giu',
)
/** Codes that let nobody in. */
const otherCode =
  /\b(?:promo(?:tion)?|discount|coupon|voucher|gift|zip|postal|post|area|error|status|country|product|referral|booking|tracking|order|source|qr|bar|swift|sort|tax|party|dress|rabatt|gutschein|réduction|descuento|sconto)[\s-]*$/i

/** 4 to 8 digits, in one piece or in two halves; or letters and digits, upper case. */
const code =
  /(?<![\p{L}\p{N}_.,:/@#+•=&?%$€£¥₹-])(?:[A-Z]-)?(\d{3}[ -]\d{3}|\d{4}[ -]\d{4}|\d{4,8}|(?=[A-Z0-9-]{0,10}\d)(?=[A-Z0-9-]{0,10}[A-Z])[A-Z0-9]{3,5}-?[A-Z0-9]{2,5})(?![\p{L}\p{N}_@%$€£¥₹]|[.,:/-]\d|-\p{L}|\s?(?:usd|eur|gbp|dollars?|euros?|kr|zł|р|руб|円|元|원|%|seconds?|sec|minutes?|min|hours?|days?|ms|sekunden|minuten|secondes|segundos|lines|people|points|秒|分)(?!\p{L}))/gu
/** What stands before a number that is the number of something else. */
const otherNumber =
  /(?:\b(?:order|invoice|ticket|case|ref(?:erence)?|account|customer|receipt|booking|reservation|flight|room|po|id|no|nr|num(?:ber|ero)?|card|phone|tel|call|fax|copyright|ending(?: in)?|ends(?: in| with)?|since|bestellung|rechnung|kundennummer|commande|facture|pedido|factura|fattura|ordine|port)\b\.?[\s#:№]*|[$€£¥₹#№©•+]\s*|[*•xX]{2}[\s-]*|(?:usd|eur|gbp)\s*|\d[\s.()-]{1,2})$/iu
/** Words that say of what follows that it is the code. */
const saying = /(?:[:：=]|\bis|\bist|\best|\bes|\bè|\bé|是|为|は|это|-|–|—)$/iu
const read = 20_000
const linked = 60
const apart = 250
/** How far from the ends of its line a code may stand that is alone on it. */
const margin = 200

/**
 * The one-time code that a message was sent to bring, without spaces and hyphens. Precise before complete: a number is
 * one only next to words that call it so; of two that differ it is neither.
 */
export function findOtp(message: { readonly subject: string; readonly text: string }): string | null {
  const text = `${message.subject.slice(0, 1000)}\n\n${message.text.slice(0, read)}`.replaceAll('\r\n', '\n')
  const named = [...text.matchAll(name)].filter(match => !isOtherCode(text, match))
  if (named.length === 0) return null
  const codes = [...text.matchAll(code)].filter(match => mayBeCode(text, match)).map(one => placed(text, one))
  const found = new Set<string>()
  // Both are in the order of the text: what is too far before one name is so for the next.
  let near = 0
  for (const one of named) {
    while (near < codes.length && one.index - codes[near]!.to > linked) near++
    const value = codeOf(text, one, codes, near)
    if (value !== undefined) found.add(value)
  }
  const [value] = found
  return found.size === 1 ? value! : null
}

function isOtherCode(text: string, { 0: words, index }: RegExpExecArray): boolean {
  const before = `${text.slice(Math.max(0, index - 40), index)}${words}`
  return otherCode.test(before.replace(/(?:code|pin)$/i, ''))
}

function mayBeCode(text: string, match: RegExpExecArray): boolean {
  return !otherNumber.test(text.slice(Math.max(0, match.index - 30), match.index))
}

interface PlacedCode {
  readonly value: string
  readonly from: number
  readonly to: number
  /** Nothing else is said on its line. */
  readonly isAlone: boolean
}

/** Each code is looked at once, however many names stand around it. */
function placed(text: string, { 0: whole, 1: value = '', index: from }: RegExpExecArray): PlacedCode {
  const to = from + whole.length
  return { value, from, to, isAlone: standsAlone(text, from, to) }
}

/** The code that this name speaks of: linked to it in one sentence, or below it on a line of its own. */
function codeOf(
  text: string,
  named: RegExpExecArray,
  codes: readonly PlacedCode[],
  near: number,
): string | undefined {
  const start = named.index
  const end = start + named[0].length
  for (let at = near; at < codes.length && codes[at]!.from - end <= apart; at++) {
    const { value, from, to, isAlone } = codes[at]!
    if (from >= end) {
      if (isAlone) return plain(value)
      if (from - end > linked) continue
      const between = text.slice(end, from)
      if (isOneSentence(between) && mayBe(value, isSaid(between))) return plain(value)
    }
    if (
      to <= start &&
      start - to <= linked &&
      !/[.!?。！？\n]/.test(text.slice(to, start)) &&
      mayBe(value, false)
    ) {
      return plain(value)
    }
  }
  return undefined
}

/** Nothing that ends a sentence, and no paragraph, stands between. */
function isOneSentence(between: string): boolean {
  return !/[.!?。！？]\s/.test(between) && !/\n[^\S\n]*\n/.test(between.trimEnd())
}

function isSaid(between: string): boolean {
  let end = between.length
  while (/[\s"'*“«「【]/.test(between.charAt(end - 1))) end--
  return saying.test(between.slice(0, end))
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

/** A year, and a word with digits, are codes only where they are said to be. */
function mayBe(value: string, isSaid: boolean): boolean {
  if (isSaid) return true
  return /^\d/.test(value) && /\d{3}/.test(value) && !/^(?:19|20)\d\d$/.test(value) && !/[A-Z]/.test(value)
}

function plain(value: string): string {
  return value.replaceAll(/[ -]/g, '')
}
