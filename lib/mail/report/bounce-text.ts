import { normaliseAddress } from '../address/address.ts'
import { fieldValues, type Header, lastField } from '../header/header.ts'
import { singleLine } from '../header/text.ts'
import { type Notice, noticeIn } from './notice.ts'
import { reportPartBytes, reportRecipients } from './part.ts'
import type { ReturnedRecipient } from './recipient.ts'
import { whatWasSaid } from './said.ts'
import { findReply, reportTextLength } from './said-reply.ts'

/** Recipients of a report for which words of its text are looked for. */
export const reportSpokenOf = 10

/** A message that may be a bounce in plain words. */
export interface BounceText {
  readonly header: Header
  readonly subject: string
  readonly text: string
  /** Whether its header and envelope are those of a bounce (`classify`). */
  readonly isBounce: boolean
}

/** A warning that it takes longer; such have X-Failed-Recipients too. */
const warns =
  /\b(?:this is (?:a|only a) (?:warning|notification about a delay)\b|(?:temporary failure|warning message) (?:only|report)|not yet been delivered|has (?:not been delivered yet|been delayed)|is delayed|will (?:keep trying|continue (?:trying|to (?:try|be made))|be retried|try again)|(?:do not|don't) need to resend|no need to resend)\b/i
const warnsInSubject = /\b(?:delay(?:ed)?|warning|\(delay\)|deferred)\b/i

/** Who speaks for a mail system, as it stands in From: a name or an address. */
const daemon =
  /\bmailer[-_. ]?daemon\b|\bpost[-_]?master\b|\bmail[-_. ]?(?:delivery|daemon|administrator|router|system)\b|\bdelivery[-_. ](?:subsystem|system|agent|service|status|report)\b|\bmmdf\b|\bmdaemon\b/i
/** Of these the ones that write of nothing else. */
const otherDaemon =
  /\bmailer[-_. ]?daemon\b|\bmail[-_. ]?(?:delivery|daemon)\b|\bdelivery[-_. ](?:subsystem|system|agent|service|status|report)\b/i
/** What such a system writes about, in the languages of large providers. */
const subjects =
  /\b(?:undeliver(?:ed|able)|undelivrable|non[- ]?deliver(?:y|able|ed)|delivery (?:status|failure|failed|error|problem|report|notification|has failed)|failure (?:notice|notification|delivery)|failed (?:mail|delivery|recipient)|returned (?:mail|to sender)|mail (?:delivery|failed|returned|failure|system error)|message you sent (?:was |has been )?(?:blocked|rejected|refused)|automatically rejected mail|message (?:not delivered|delivery|undeliverable|could not be)|returning (?:message|mail)|could not be delivered|not delivered|unzustellbar(?:e|er)?|zustellung fehlgeschlagen|zustell(?:ungs)?fehler|mail konnte nicht|[eé]chec de (?:la )?(?:remise|distribution|livraison)|(?:fallo|error) (?:de|en la) entrega|errore di (?:consegna|recapito)|erro (?:de|na) entrega|bezorgings?fout|nicht zugestellt|non remis|non distribu|échec de la remise|no se (?:ha )?(?:pudo|podido) entregar|no entregado|mancata consegna|não entregue|falha na entrega|niet[- ]bestelbaar|niet bezorgd|kan inte levereras|kunde inte levereras|kan ikke leveres|kunne ikke leveres|olevererbart|mancato recapito|non (?:recapitato|consegnato|recapitabile)|imposible entregar|no entregable|niedostarczon[aey]|nedoručen[áéo]|nedoručiteln[áé]|kézbesíthetetlen|iletilemedi|teslim edilemedi|nu (?:a putut fi|poate fi) livrat|isporuka nije uspjela)\b|недостав|не доставлено|送信できません|配信(?:不能|エラー|に失敗)|エラーメール|配達できません|無法(?:投遞|傳遞)|无法(?:投递|送达)|退信|(?:메일|메시지) ?(?:전송|발송|배달) ?실패|전송되지 못|발송되지 못|반송|недоставлен|не (?:було )?доставлен|toimitus epäonnistui|ei voitu toimittaa|αδυναμία παράδοσης|לא ניתן למסור|تعذر (?:تسليم|التسليم)|không gửi được|gagal terkirim/iu
/** An answer, or a desk that helps, repeats the subject of what it answers. */
const answers =
  /^\s{0,5}(?:(?:re|aw|sv|vs|odp|antw|antwort|res|rif|r|fwd?|wg|tr|enc|rv)\s?[:：]|[[(](?:#|(?:ticket|case|request|issue|anfrage|demande)\b)[^\])]{0,60}[\])]|(?:ticket|case|request|issue) (?:#|no\b|\d))/iu
/** That somebody is away. */
const absence =
  /^\s{0,5}(?:automatic reply|auto(?:matic)?[- ]?(?:reply|response)|out of (?:the )?office|abwesenheits\w*|automatische antwort|réponse automatique|respuesta automática|risposta automatica|resposta automática|automatisch antwoord|autosvar|автоответ|自动回复|自動回覆|自動返信)\s?(?:[:：]|$)/iu
/** Of those subjects the ones that say that it is the end. */
const subjectGivesUp =
  /\bundeliver(?:ed|able)|\bnon[- ]?deliver|\bfail(?:ed|ure)\b|\breturned\b|\breturning (?:message|mail)\b|\bnot (?:be )?delivered\b|\brejected\b/i
/** That it is the end. "Not" and "unable" beside what mail is for. */
const givesUp =
  /\b(?:permanent(?:ly)? (?:\w+ )?(?:error|failure|failed)|failed permanently|(?:given|gave|giving) up|undeliver(?:able|ed)|(?:could|can|was|were|has|have|been|is)(?: ?not|n't) (?:be |been )?(?:\w+ly )?(?:delivered|sent|transmitted|transferred)|(?:unable|not able|failed) to (?:deliver|send|transmit)|(?:did not|didn't|not) reach(?:ed)? the following|delivery (?:has )?(?:failed|failure)|(?:delivery|deliver|delivering) .{0,80}\bfailed|(?:was|were|been|is) aborted after|fatal errors?|failed addresses|failure reasons?|failed after|message expired|envelope expired|too long in the queue|i'm not going to try again|address(?:es)? failed|an error (?:has )?occurred while (?:attempting|trying) to deliver|exceeds allowed size|have been (?:rejected|returned)|has been (?:rejected|refused|returned)|was (?:rejected|refused|returned)|konnte nicht zugestellt|nicht (?:zugestellt|ausgeliefert|übermittelt) (?:werden|an)|n'a pas pu être (?:remis|distribu)|no se (?:ha )?(?:pudo|podido) entregar|impossibile (?:consegnare|recapitare)|não (?:pôde|foi possível) (?:ser )?entreg\w+)|не (?:был[оа]? )?доставлен|送信できません|配信(?:できません|不能)|届け(?:られません|ることができません)|无法(?:投递|送达)|無法(?:投遞|傳遞)|退信|전송되지 (?:못|않)|발송되지 (?:못|않)|전송이 실패|전송에 실패|배달할 수 없|nie (?:mogła|mógł|mogło) zostać dostarczon|nie została dostarczon|non e' stato consegnato|non è stato (?:consegnato|recapitato)|n'a pas été (?:remis|distribué|délivré)|no (?:se )?(?:ha sido|fue|pudo ser) entregado|não foi entregue|niet (?:worden )?(?:afgeleverd|bezorgd)|kunde inte levereras|kunne ikke leveres|nemohla být doručena|nebyla doručena|nem (?:sikerült|lehetett) kézbesíteni|teslim edilemedi|iletilemedi|ei voitu toimittaa|не може бути доставлен|không (?:thể )?gửi được/iu

/**
 * Reads what mail servers say in words alone (RFC 3464 asks for more than they write). Doubt means that it is none: it must
 * come from a mail system by its header, or quote a refusal above a copy of a message; and it must say that this is the end.
 * @param recipients whom the deliveries were for that it came back to; one of them whom it names is what it is about
 * @param readStatus reads the fields of RFC 3464, which stand in the text when the MIME around them is broken
 */
export function readBounceText(
  message: BounceText,
  recipients: readonly string[],
  hasCopy: boolean,
  readStatus: (text: string) => ReturnedRecipient[],
): ReturnedRecipient[] {
  if (isAnswer(message)) return []
  const subject = answers.test(message.subject) ? '' : message.subject.slice(0, 500)
  const isSystem = message.isBounce || daemon.test(fromOf(message.header))
  const text = message.text.slice(0, reportPartBytes)
  const isSubject = subjects.test(withoutAddresses(subject))
  if ((isSystem || isSubject) && /^Final-Recipient:/im.test(text)) return readStatus(withoutCopy(text))
  const notice = noticeIn(text)
  const namesOne = notice.listed.length > 0 || recipients.some(one => notice.lower.includes(one))
  // Anybody writes about an "original message", and nobody but a system attaches it as it came.
  const copied = hasCopy || notice.hasFields
  // Parcels are delivered, too: such a subject alone says nothing.
  const isFromSystem = isSystem || (isSubject && (copied || namesOne))
  if (!isFromSystem && (subject === '' || !copied)) return []
  if (isVague(message.header, isSubject) && !copied && notice.listed.length === 0) {
    const namesOurs = recipients.some(one => notice.lower.includes(one))
    if (!namesOurs || findReply(notice.text) === undefined) return []
  }
  const isShort = notice.text.length < reportTextLength
  const failed = fieldValues(message.header, 'x-failed-recipients').join(',').split(',')
  const named = addresses(failed.map(one => one.trim()))
  const known = recipients.filter(one => named.includes(one) || notice.lower.includes(one))
  const about = [known, named, notice.listed].find(some => some.length > 0) ?? [undefined]
  // Lines end where they are full.
  const flat = singleLine(notice.text)
  const saysSo = givesUp.test(flat)
  const isFinal = isFromSystem && (named.length > 0 || saysSo || subjectGivesUp.test(subject))
  return about.slice(0, reportSpokenOf).flatMap(address => {
    const { reply, text: said, replyClass } = whatWasSaid(notice, address, othersThan(address, notice, named))
    const isPermanent = reply?.code === undefined ? reply?.enhanced?.startsWith('5.') : reply.code >= 500
    const isOfThem = replyClass === 'recipient' || replyClass === 'full'
    const speaks = reply === undefined && isOfThem && (isFromSystem || (isShort && saysSo))
    if (!isFinal && !isPermanent && !speaks) return []
    const isWarning =
      warns.test(flat) || (!isPermanent && replyClass !== 'recipient' && warnsInSubject.test(subject))
    return [
      {
        finalRecipient: address,
        originalRecipient: undefined,
        action: isWarning ? 'delayed' : 'failed',
        code: reply?.code,
        enhanced: reply?.enhanced,
        text: said,
        host: undefined,
      } as const,
    ]
  })
}

/** Whether a postmaster writes, who writes of much, and no subject says that something came back. */
function isVague(header: Header, isSubject: boolean): boolean {
  const from = fromOf(header)
  const hasFailed = lastField(header, 'x-failed-recipients') !== undefined
  return !isSubject && !hasFailed && /\bpost[-_]?master\b/i.test(from) && !otherDaemon.test(from)
}

/** `Delivery to bob@example.net failed` is `Delivery failed`. */
function withoutAddresses(subject: string): string {
  const words = subject.split(' ').filter(word => !word.includes('@'))
  return words.join(' ').replace(/delivery (?:to|for) /i, 'delivery ')
}

/** Somebody's program that answers, or tells what became of a message in the mailbox (RFC 8098): it has come. */
function isAnswer({ header, subject, text }: BounceText): boolean {
  if (absence.test(subject)) return true
  const contentType = lastField(header, 'content-type') ?? ''
  // RFC 5429 §2.1.2: a filter that refuses may say so in one of those, too.
  if (/\bdisposition-notification\b/i.test(contentType))
    return !/\bwas automatically rejected\b/i.test(text.slice(0, 1000))
  const isSystem = daemon.test(fromOf(header)) || lastField(header, 'x-failed-recipients') !== undefined
  const programs = ['x-autoreply', 'x-autorespond', 'x-autoresponder', 'x-auto-reply-from']
  return !isSystem && programs.some(name => lastField(header, name) !== undefined)
}

function fromOf(header: Header): string {
  return (lastField(header, 'from') ?? '').slice(0, 1000)
}

/** The fields may stand below a word about a copy, but the copy has a type of its own. */
function withoutCopy(text: string): string {
  return text.slice(0, /^content-type:[ \t]*(?:message\/rfc822|text\/rfc822-headers)/im.exec(text)?.index)
}

function othersThan(address: string | undefined, notice: Notice, named: readonly string[]): string[] {
  return [...new Set([...notice.listed, ...named])].filter(one => one !== address)
}

function addresses(texts: readonly string[]): string[] {
  const found = texts.slice(0, reportRecipients).map(normaliseAddress)
  return [...new Set(found.filter(address => address !== undefined))]
}
