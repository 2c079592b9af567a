/**
 * What only programs write, by language, in lower case: that nobody asked for the message, that it is not to be answered, that
 * its code is a secret. Each entry is part of a pattern.
 */
const programPhrases: Readonly<Record<string, string>> = {
  en: "(?:did not|didn['’]t) (?:request|make|initiate|attempt|ask for|sign up|create|try to) (?:this|it|that|the|a|an|to)|(?:ignore|disregard|delete) this (?:e-?mail|message|mail|notice|request)|(?:do not|don['’]t|never) (?:share|forward|disclose|give) (?:this|the|your|it) ?(?:code|pin|otp|password|passcode)?|automat(?:ed|ic|ically generated|ically sent) (?:message|e-?mail|mail|notification)|(?:this (?:e-?mail|message) (?:was|is|has been) (?:sent|generated|created) automatically)|(?:do not|don['’]t) (?:reply|respond) (?:directly )?to this|replies to this (?:e-?mail|message|address)|(?:mailbox|inbox|address) is (?:not|un)[- ]?monitored|you (?:are receiving|received|are getting) this (?:e-?mail|message) because",
  de: 'bitte nicht weitergeben|nicht (?:angefordert|veranlasst|beantragt)|(?:ignorieren sie|ignoriere) (?:diese|die) (?:e-?mail|nachricht|mail)|(?:e-?mail|nachricht|mail) (?:bitte )?(?:einfach )?ignorieren|automatisch (?:generiert|erstellt|erzeugt|versendet|verschickt|versandt)|automatische (?:e-?mail|nachricht|benachrichtigung)|nicht auf diese (?:e-?mail|nachricht|mail)|(?:code|pin|tan|passwort) (?:niemals|nie|nicht|mit niemandem|an niemanden|niemandem) (?:weiter|mit)|geben sie (?:diesen|den) code (?:niemals|nie|nicht)',
  fr: "(?:n['’]avez pas|n['’]as pas|n['’]êtes pas à l['’]origine|pas à l['’]origine) (?:demandé|effectué|de cette|initié)|ignore[rz] (?:ce|cet) (?:e-?mail|message|courriel|mail)|(?:message|e-?mail|courriel|mail) (?:est |a été )?(?:généré |envoyé )?automatique|ne (?:pas )?(?:répondez|répondre) (?:pas )?à ce|ne (?:le )?(?:communiquez|partagez|divulguez|transmettez) (?:jamais|pas|à personne)",
  es: 'no (?:has |ha )?(?:solicitado|solicitaste|solicitó|pediste|pidió|realizaste|realizó) (?:este|esta|el|la)|no (?:has|ha) (?:solicitado|pedido|realizado)|ignor[ae] este (?:correo|mensaje|e-?mail)|(?:mensaje|correo) (?:generado |enviado |es )?(?:automáticamente|automático)|no (?:responda|respondas|conteste|contestes) (?:a )?este|no (?:lo )?(?:compartas|comparta|compartir) (?:este|el|con)',
  pt: 'não (?:solicitou|pediu|fez|requisitou) (?:este|esta|esse|essa|o|a)|ignor[ea] (?:este|esta|esse|essa) (?:e-?mail|mensagem)|(?:mensagem|e-?mail) (?:gerada |gerado |enviada |enviado |é )?(?:automaticamente|automátic[ao])|não responda (?:a )?(?:este|esta|esse|essa)|não (?:o )?(?:compartilhe|partilhe) (?:este|esse|o|com)',
  it: 'non (?:hai|ha|avete) (?:richiesto|effettuato)|ignora(?:re)? (?:questa|questo|la presente) (?:e-?mail|messaggio|mail)|(?:messaggio|e-?mail|mail) (?:è (?:stat[oa] )?)?(?:generat[oa] |inviat[oa] )?automatic|non rispondere a (?:questa|questo)|non (?:condividere|comunicare) (?:questo|il|mai)',
  nl: 'niet (?:zelf )?(?:aangevraagd|gevraagd|verzocht)|negeer (?:deze|dit) (?:e-?mail|bericht|mail)|(?:e-?mail|bericht|mail) (?:dan )?negeren|automatisch (?:gegenereerd|verzonden|verstuurd|aangemaakt|bericht)|niet (?:op|te) (?:deze|dit|beantwoorden)|deel (?:deze|de|je|uw) code (?:nooit|niet|met niemand)',
  da: 'ikke (?:har )?(?:anmodet|bedt) om|ignor[eé]r denne (?:e-?mail|besked|mail)|automatisk (?:genereret|sendt|besked|mail)|(?:svar ikke|ikke svare?) på denne|del ikke (?:koden|denne)',
  nb: 'ikke (?:har )?(?:bedt om|forespurt)|ignorer denne (?:e-?posten|meldingen)|automatisk (?:generert|sendt|melding|e-?post)|(?:svar ikke|ikke svar) på denne|ikke del (?:koden|denne)',
  sv: 'inte (?:har )?(?:begärt|bett om|beställt)|ignorera (?:detta|det här) (?:e-?post|meddelande|mejl|mail)|automatiskt (?:genererat|skickat|meddelande|mejl)|(?:svara inte|inte svara) på (?:detta|det här)|dela (?:inte|aldrig) (?:koden|denna|med)',
  fi: 'et (?:ole )?(?:pyytänyt|tilannut)|jätä (?:tämä )?(?:viesti )?huomiotta|automaattinen (?:viesti|ilmoitus)|automaattisesti (?:lähetetty|luotu)|älä vastaa tähän|älä (?:jaa|kerro) (?:koodia|tätä)',
  is: 'baðst ekki um|hunsaðu þe|sjálfvirk(?:ur|t) (?:póst|skeyti)|ekki svara þess',
  ca: 'no (?:has|heu) (?:sol·licitat|demanat)|ignora aquest (?:correu|missatge)|(?:missatge|correu) automàtic|no responeu? a aquest|no comparteixi',
  ro: 'nu (?:ați|ai) (?:solicitat|cerut)|ignora[țt]i? acest (?:e-?mail|mesaj)|(?:mesaj|e-?mail) (?:generat |trimis )?automat|nu r[ăa]spunde[țt]i? la acest|nu (?:distribui|divulga|comunica)',
  pl: 'nie (?:prosił[eao]ś|prosił|prosiłeś|zamawiał|wysyłał)|zignoruj (?:tę|tego|ten)|zignorować (?:tę|ten)|(?:wiadomość|e-?mail) (?:została? )?(?:wygenerowan|wysłan)[aey] automatycznie|automatyczn[aey] wiadomość|(?:prosimy )?nie odpowiad[ać]{1,2}j? na (?:tę|ten)|nie (?:udostępniaj|podawaj|przekazuj)',
  cs: 'nežádal|nepožádal|(?:tento|tuto) (?:e-?mail|zprávu) (?:prosím )?ignoruj|ignorujte (?:tento|tuto)|automatick(?:y|á|ý) (?:vygenerovan|odeslan|zpráv|e-?mail)|neodpovídejte|(?:nikomu )?nesdělujte|nikomu nesdíle',
  sk: 'nežiadal|nepožiadal|ignorujte (?:tento|túto)|automatick(?:y|á|ý) (?:vygenerovan|odoslan|správ|e-?mail)|neodpovedajte|nikomu ne(?:zdieľ|poskytu|oznamu)',
  sl: 'niste zahtevali|prezrite to|samodejno (?:ustvarjen|poslan)|ne odgovarjajte na to',
  hr: 'niste (?:zatražili|tražili)|(?:zanemarite|ignorišite|ignorirajte) (?:ovu|ovaj)|automatsk[aie] (?:poruka|generiran|poslan|generisan)|ne odgovarajte na (?:ovu|ovaj)|nemojte (?:odgovarati|dijeliti|deliti)',
  sr: 'нисте (?:затражили|тражили)|занемарите (?:ову|овај)|аутоматск[аи] порук|не одговарајте на (?:ову|овај)',
  hu: 'nem (?:ön|te) (?:kérte|kérted|kezdeményezte)|hagyja figyelmen kívül|hagyd figyelmen kívül|automatikus(?:an)? (?:üzenet|küldött|generált|értesít)|ne válaszolj|ne ossza meg|ne oszd meg',
  et: 'ei (?:ole )?(?:seda )?(?:taotlenud|küsinud)|ignoreeri(?:ge)? (?:seda|käesolevat)|automaatne (?:teade|kiri|sõnum)|ärge vastake',
  lv: 'nepieprasīj|ignorējiet šo|automātisk[si] (?:ziņojum|e-pasts|vēstule)|neatbildiet uz šo',
  lt: 'neprašėte|ignoruokite šį|automatin(?:is|ė) (?:pranešimas|žinutė|laiškas)|neatsakykite į šį',
  ru: 'не (?:запрашивали|отправляли|делали|совершали|регистрировал)|(?:проигнорируйте|игнорируйте) (?:это|его)|автоматическ(?:ое|и|ая) (?:сообщение|письмо|сгенерир|созда|отправл|рассылк|уведомл)|не отвечайте на|не нужно отвечать|(?:никому )?не (?:сообщайте|передавайте|показывайте)|никому его',
  uk: 'не (?:надсилали|робили|запитували|замовляли)|(?:проігноруйте|ігноруйте) (?:цей|це|його)|автоматичн(?:е|о|ий) (?:повідомлення|лист|створен|надісл|згенер)|не відповідайте на|(?:нікому )?не (?:повідомляйте|передавайте)',
  be: 'не запытвалі|праігнаруйце|аўтаматычна[ея] (?:паведамленне|створан)|не адказвайце',
  bg: 'не сте (?:поискали|заявили|поръчвали)|(?:игнорирайте|пренебрегнете) (?:този|това)|автоматичн(?:о|ен) (?:съобщение|генериран|изпратен|имейл)|не отговаряйте на|не споделяйте',
  el: 'δεν (?:ζητήσατε|κάνατε|υποβάλατε)|αγνοήστε (?:αυτό|το|αυτή)|αυτόματ(?:ο|α|η) (?:μήνυμα|απεστάλη|παρήχθη|ειδοποίηση)|μην απαντ|μην (?:κοινοποι|μοιρ)',
  tr: '(?:siz )?(?:talep|istek) (?:etmediyseniz|bulunmadıysanız|etmediysen)|istemediyseniz|yapmadıysanız|(?:dikkate almayın|görmezden gelin|yok sayın)|otomatik (?:olarak (?:gönderil|oluşturul)|bir (?:mesaj|ileti|e-?posta)|mesaj)|yanıtlamayın|cevaplamayın|kimseyle paylaşma',
  he: 'לא (?:ביקשת|ביקשתם|את[הם]? ביקש)|התעלמ[ו]? מ|הודעה אוטומטית|נשלחה אוטומטית|אין להשיב|נא לא להשיב|אל תשתפ',
  ar: 'لم (?:تطلب|تقم|تقومي)|تجاهل (?:هذه|هذا)|رسالة (?:تلقائية|آلية)|(?:لا|عدم) (?:ترد|الرد) على|لا تشارك|عدم مشاركة',
  fa: 'درخواست نکرده|نادیده بگیرید|پیام خودکار|به‌?طور خودکار|پاسخ ندهید|در اختیار (?:دیگران|کسی)',
  hi: 'अनुरोध नहीं किया|अनदेखा करें|नज़रअंदाज़ करें|स्वचालित (?:संदेश|ईमेल)|उत्तर न दें|जवाब न दें|साझा न करें|शेयर न करें',
  th: 'ไม่ได้(?:ร้องขอ|ขอ|ทำ)|เพิกเฉย|(?:อีเมล|ข้อความ)อัตโนมัติ|โดยอัตโนมัติ|อย่าตอบกลับ|กรุณาอย่าตอบ|อย่าเปิดเผย|ห้ามเปิดเผย',
  vi: 'không (?:yêu cầu|thực hiện)|bỏ qua (?:email|thư|tin)|(?:email|thư|tin nhắn) (?:được gửi )?tự động|không (?:trả lời|phản hồi) (?:email|thư)|không chia sẻ',
  id: 'tidak (?:meminta|melakukan|merasa)|abaikan (?:email|pesan|e-mail)|(?:email|pesan) (?:ini )?(?:dikirim |dibuat )?(?:secara )?otomatis|(?:jangan|tidak perlu|mohon tidak) (?:membalas|balas)|jangan (?:berikan|bagikan|beritahu)',
  tl: 'hindi (?:mo|ikaw) (?:hiniling|humiling)|huwag pansinin|huwag (?:tumugon|ibahagi)',
  zh: '(?:非|不是)(?:您)?本人(?:操作|请求|請求)|(?:没有|未|沒有)(?:请求|申请|要求|請求|申請)|(?:忽略|无视|無視|不必理会)(?:此|本|该|這|这|該)?(?:邮件|郵件|信)|请忽略|請忽略|系统(?:自动)?(?:发送|发出|邮件)|系統自動|自动(?:发送|发出|生成)|自動(?:發送|發出|產生)|(?:请勿|勿|请不要|請勿|請不要)(?:直接)?(?:回复|回覆|泄露|洩漏|洩露|告诉|告訴|告知|转发)',
  ja: '(?:心当たり|覚え|身に覚え)(?:が|の)(?:ない|無い|ございません)|このメールは(?:無視|破棄|自動|送信専用)|自動(?:送信|配信|的に)|送信専用|返信(?:しないで|いただいても|できません|は(?:不要|受け付け))|他人に(?:教え|知らせ|共有)|(?:破棄|削除|無視)してください',
  ko: '(?:요청|신청)하(?:지 않|신 적이 없)|본인이 (?:아니|요청|시도)|무시(?:하세요|하시|해 ?주|하셔)|발신 ?전용|자동(?:으로)? (?:발송|발신|생성)|회신(?:하지|되지|이 불가|불가)|답장하지|(?:타인|다른 사람|누구)(?:에게|과|에게도) (?:공유|알려|노출)',
}

const phrases = new RegExp(
  `(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}])(?:${Object.values(programPhrases).join('|')})`,
  'iu',
)
const read = 20_000

/** Whether a text says in words of its own that a program wrote it. */
export function isProgramText(text: string): boolean {
  return phrases.test(text.slice(0, read).replace(/\s+/g, ' '))
}

const template = /<table\b/i
const frame = /\bwidth\s*[:=]\s*["']?(?:4[89]\d|[56]\d\d|700)(?!\d)|\brole=["']?presentation\b/i
const personal =
  /\bclass=["']?(?:mso|gmail_|moz-|apple-|x_?mso|elementtoproof)|\bschemas-microsoft-com:office:word\b/i

/** Whether HTML was filled into a template: laid out in a table of the width of templates, without a trace of the programs by which people write. */
export function isTemplate(html: string): boolean {
  const start = html.slice(0, 200_000)
  return template.test(start) && frame.test(start) && !personal.test(start)
}
