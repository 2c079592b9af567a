/** What codes are called that let somebody in, in the languages that they come in; each is part of a pattern. */
export const codeNames = [
  // English
  '(?:verification|security|log-?in|sign-?in|access|confirmation|authentication|authorization|one[- ]time|single[- ]use|temporary|two-(?:factor|step)(?: verification)?|2fa|mfa|otp|activation|auth|device|guard|recovery|voting|pick-?up|delivery|ride)[- ](?:pass-?code|code|pin|password|number)(?!s)',
  '(?:set-?up|registration|sign-?up|pairing|unlock|validation|identity|secret|dynamic|enrol?lment)[- ](?:pass-?code|code|pin)|(?:verification|security|sign-?in|log-?in|confirmation|access) token',
  'otp',
  // German, Dutch, the North
  '(?:bestätigungs|sicherheits|verifizierungs|verifikations|anmelde|zugangs|registrierungs|authentifizierungs|einrichtungs|prüf|aktivierungs|einmal|login|freischalt)-?(?:code|kennwort|passwort|pin)|m?tan(?!\\p{L})',
  '(?:verificatie|beveiligings|bevestigings|inlog|toegangs|activatie)code|eenmalige (?:code|pincode)',
  '(?:verifierings|säkerhets|engångs|inloggnings|innloggings|pålognings|aktiverings|adgangs|tilgangs|åtkomst|kirjautumis|bekräftelse|bekræftelses|bekreftelses|sikkerheds|sikkerhets|engangs|vahvistus|kertakäyttö)-?(?:kod|kode|koden|koodi)',
  '(?:einmal|einmalige[ns]?|temporäre[ns]?) ?(?:kennwort|passwort|pin|code)|(?:eenmalig|tijdelijk)e? (?:wachtwoord|code|pincode)|eenmalig wachtwoord|(?:engångs|engangs)(?:lösenord|adgangskode|passord|kod(?:e|en)?)|(?:tillfälligt|midlertidig) (?:lösenord|adgangskode|passord)|kertakäyttö(?:salasana|koodi|tunnus)(?:si)?|(?:einnota|öryggis|staðfestingar)(?:kóði|kóðinn|lykilorð)',
  // the Romance languages
  "mot de passe (?:à usage unique|temporaire|unique|provisoire)|(?:contraseña|clave) (?:de (?:un solo uso|acceso|verificación|seguridad|único uso)|temporal|dinámica|única)|senha (?:de (?:uso único|acesso|verificação)|temporária|única|provisória)|palavra-passe (?:de (?:utilização|uso) únic[ao]|temporária)|password (?:monouso|temporanea|usa e getta)|parol[aă] (?:de unică folosință|temporară|unică)|contrasenya (?:d['’]un sol ús|temporal)",
  "code (?:de (?:vérification|sécurité|confirmation|connexion|validation)|d['’](?:accès|authentification|activation|identification)|à usage unique|temporaire|secret)",
  'código (?:de (?:verificación|seguridad|confirmación|acceso|inicio de sesión|un solo uso|activación|verificação|segurança|confirmação|acesso|uso único|ativação)|temporal|temporário)',
  'codice (?:di (?:verifica|sicurezza|conferma|accesso|attivazione)|monouso|temporaneo)|cod(?:ul)? (?:tău |dvs\\. )?de (?:verificare|securitate|confirmare|acces)|codi de (?:verificació|seguretat)',
  // the Slavic languages, and others of Europe
  'kod (?:weryfikacyjny|bezpieczeństwa|potwierdzający|dostępu|jednorazowy|aktywacyjny|logowania)|(?:ověřovací|potvrzovací|overovací) kód|ellenőrző kód',
  'код (?:подтверждения|проверки|безопасности|доступа|для входа|входа|активации|авторизации|підтвердження|для входу|за потвърждение|за достъп)|одноразовый (?:код|пароль)',
  '(?:doğrulama|güvenlik|onay|giriş|erişim) kodu(?:nuz)?|tek kullanımlık (?:şifre|kod)(?:niz|unuz)?|κωδικός (?:επαλήθευσ[ηή]ς|ασφαλείας|μίας χρήσης)|patvirtinimo kodas',
  'hasł[oa] (?:jednorazowe|tymczasowe|sms)|jednorazowe hasło|(?:jednorázové|dočasné) hesl[oa]|(?:egyszeri|egyszer használatos|ideiglenes) (?:jelsz[oó](?:ja|d)?|kód(?:ja|od)?)|(?:jednokratna|privremena|enkratno|začasno) (?:lozinka|geslo)|(?:ühekordne|ajutine) parool|(?:vienreizējā|pagaidu) parole|(?:vienkartinis|laikinas) slaptažodis',
  '(?:kinnitus|turva|sisselogimis|kontroll)kood|apstiprinājuma kods|(?:prisijungimo|saugos) kodas|(?:potrditvena|varnostna|enkratna) koda|(?:potvrdni|sigurnosni|jednokratni) k[oô]d|kód pro (?:přihlášení|ověření)|(?:overovací|bezpečnostn[íý]|prihlasovací|přihlašovací|jednorázový) kód|jednorazowy kod|kod do (?:logowania|weryfikacji)|(?:belépési|megerősítő|hitelesítő|biztonsági|aktiváló|bejelentkezési) kód(?:ja|od)?',
  '(?:одноразов|временн|тимчасов|еднократн|аднаразов)[а-яіў]{1,3} (?:пароль?|парола|код)|пароль (?:для (?:входа|подтверждения|входу)|подтверждения|доступа)|(?:једнократна|привремена) лозинка|κωδικ(?:ός|ού|ό) (?:πρόσβασης|μιας χρήσης|σύνδεσης)|кодът за (?:достъп|потвърждение|вход)|(?:tek kullanımlık|geçici) (?:şifre|parola|kod)(?:niz|nız|unuz)?|fjalëkalim(?:i)? (?:njëpërdorimësh|i përkohshëm)',
  // Asia and the Near East
  '로그인 ?(?:코드|번호)|رمز تسجيل الدخول|mã đăng nhập|kode (?:masuk|login)|รหัส(?:เข้าสู่ระบบ|otp)|ワンタイム(?:コード|パス(?:コード|ワード))|ログインコード|一時パスワード|(?:임시|일회용) ?(?:비밀번호|코드|번호)|(?:临时|臨時|登录|登入)(?:密码|密碼|验证码|驗證碼|码|碼)|mật khẩu (?:một lần|tạm thời|dùng một lần)|kata sandi (?:sekali pakai|sementara)|รหัสผ่าน(?:ครั้งเดียว|ชั่วคราว)|एक बार का पासवर्ड|वन टाइम पासवर्ड|كلمة (?:المرور|مرور|السر) (?:المؤقتة|لمرة واحدة|مؤقتة)|رمز(?: عبور)? (?:یک‌?بار مصرف|موقت|پویا)|סיסמ(?:ה|א|ת) (?:חד[- ]פעמית|זמנית|כניסה)|קוד (?:חד[- ]פעמי|זמני)',
  '验证码|驗證碼|校验码|动态码|動態碼|安全码|安全碼|确认码|確認碼|动态密码|動態密碼|一次性密码|一次性密碼',
  '認証コード|確認コード|検証コード|セキュリティコード|ワンタイムパスワード|認証番号',
  '인증 ?번호|인증 ?코드|확인 ?코드|보안 ?코드|일회용 ?비밀번호',
  'mã (?:xác minh|xác nhận|xác thực|otp)|kode (?:verifikasi|otp|keamanan)|รหัสยืนยัน|रहस्य कोड|सत्यापन कोड|ओटीपी',
  'رمز (?:التحقق|التأكيد|الدخول|الأمان)|کد (?:تأیید|تایید|ورود)|קוד (?:ה?אימות|ה?כניסה|ה?אבטחה)',
].join('|')

/** Words that mean a code or a password of whatever kind, by language, whole and in the forms in which mail has them. */
const weakForms: Readonly<Record<string, string>> = {
  en: 'code pin otp passcode password token',
  de: 'code tan mtan passwort kennwort pin',
  fr: 'code codes',
  es: 'código codigo clave contraseña',
  pt: 'código senha palavra-passe',
  it: 'codice',
  nl: 'code wachtwoord pincode',
  north:
    'kod kode koden koda lösenord lösenordet adgangskode adgangskoden passord passordet kóði kóðinn lykilorð',
  fi: 'koodi koodisi salasana salasanasi',
  ca: 'codi contrasenya',
  ro: 'cod codul parola',
  pl: 'kod kodu hasło',
  cs: 'kód kódu heslo',
  south: 'kôd kod geslo lozinka koda лозинка',
  hu: 'kód kódja kódod jelszó jelszava jelszavad',
  baltic: 'kood parool kods parole kodas slaptažodis',
  ru: 'код кода пароль',
  uk: 'коду',
  bg: 'кодът парола паролата',
  el: 'κωδικός κωδικό',
  sq: 'kodi fjalëkalimi',
  tr: 'kodu kodunuz kodum kodun şifre şifreniz parola parolanız',
  he: 'קוד סיסמה הקוד',
  ar: 'رمز الرمز رمزك',
  fa: 'کد',
  hi: 'कोड पासवर्ड ओटीपी',
  th: 'รหัส',
  vi: 'mã',
  id: 'kodenya sandi',
  zh: '验证码 驗證碼 动态码 動態碼 校验码 安全码 安全碼 确认码 確認碼 认证码 認證碼 登录码 密码 密碼 代码 代碼',
  ja: 'コード パスワード 認証番号 確認番号 暗証番号',
  ko: '코드 번호 비밀번호',
}

export const weakStems: readonly string[] = [...new Set(Object.values(weakForms).join(' ').split(' '))]

/** Parts of the names in `codeNames` that none of `weakStems` is part of. */
const moreStems =
  'number tunnus passe parol парол hasł hesl jelsz κωδικ fjalëkalim 码 碼 mật كلمة סיסמ'.split(' ')

/** Every name of a code contains one of these, in lower case. A stem that contains another one is left out. */
export const nameStems: readonly string[] = [...moreStems, ...weakStems].filter(
  (stem, _, all) => !all.some(other => other !== stem && stem.includes(other)),
)

/** Words for "your" before a code, and behind it, in lower case. */
export const yourWords: ReadonlySet<string> = new Set(
  'your dein deine deinen ihr ihre ihren votre ton tu su seu sua teu tua tuo tua suo vostro uw je jouw din dit ditt deres teie jūsu jūsų teu vostre tău tuo twój twoje twoja váš vaše tvůj tvoj vaš tvoje твой твоё твій ваш ваше вашият вашата твоят σας juaj þinn आपका'.split(
    ' ',
  ),
)
export const yourBehind = 'anda|kamu|của bạn|שלך|الخاص بك|σας|dvs|dumneavoastră|tău|ta|þinn|ti|شما'

/** What a program says of a code that ends: how long it is good, by language. */
export const lifetimeWords =
  'expires? (?:in|at|after|on|soon)|will expire|valid (?:for|until|only)|good for \\d|(?:stops|only) works?|gültig|läuft .{0,20}ab|verfällt|valable|expire(?:ra)? (?:dans|à|le)|válid[oa]|caduca|vence (?:en|em)|expira|scade|valid[oa] per|geldig|verloopt|gyldig|udløber|utløper|giltig|går ut|voimassa|vanhenee|gildir|rennur út|vàlid|valabil|ważn[yea]|wygas|platn[ýáéí]|vyprší|érvényes|lejár|vrijedi|važi|velja|ističe|poteče|kehti|aegu|derīg|galioja|действи?т|действ(?:ует|ителен)|истека|дійсн|закінчу|валид|изтича|ισχύει|λήγει|vlen|skadon|geçerli|sona er|בתוקף|בתוק|יפוג|صالح|تنتهي|ينتهي|معتبر|منقضی|मान्य|वैध|समाप्त|หมดอายุ|ใช้ได้|hiệu lực|hết hạn|berlaku|kedaluwarsa|有效|过期|過期|失效|有効|期限|無効|유효|만료'

/** What codes let nobody in, by language: a word before the name, or behind it (with what joins them). */
const otherKinds: Readonly<Record<string, string>> = {
  en: 'promo(?:tion)?|discount|coupon|voucher|gift(?: card)?|zip|postal|post|area|error|status|exit|return|country|product|referral|booking|reservation|tracking|order|source|qr|bar|swift|sort|tax|party|dress|check-?in|colou?r|build|machine|morse|course|iso|airport|iata|icao|penal|class|subject|module|batch|part|model|sku|item|article|stock|project|department|branch|store|plu|vat|ral|hex|hs|gl|naics|sic|mcc|cheat|genetic|conference|meeting|webinar|dial(?:-?in|ing)?|reason|customer|client|supplier|vendor|member(?:ship)?|cost|cent(?:er|re)|routing|bank|commit|company|employee|staff|student|patient|insurance|serial|asset|location|site|warehouse|shipping|route|job|charge|transaction|tariff|commodity|fund|currency|language|district|region|state|city|pin|entry|gate|door|alarm|building|host|parking|wi-?fi|catalog(?:ue)?|style|size|fault|response|priority|budget|invoice|expense|account|dealer|partner|event|seat|ticket|room|unit|lot|drug|diagnosis|billing|procedure|icd|cpt|legal|civil|time|pay|grade|campaign|survey|affiliate|loyalty|training',
  de: 'rabatt|gutschein|kunden?|artikel|produkt|bestell|länder|bank|fehler|tür|tor',
  fr: 'réduction|article|client|produit|postal|promo|erreur|commande|banque|guichet|fournisseur|barres|porte|portail|immeuble|pays|naf|ape|adhérent|réservation',
  es: 'descuento|producto|cliente|postal|artículo|error|pedido|banco|proveedor|barras|país|socio|reserva|promocional|empleado|puerta|portal|área',
  pt: 'desconto|produto|cliente|postal|artigo|erro|encomenda|pedido|banco|fornecedor|barras|país|sócio|reserva|promocional|rastreio|rastreamento|porta',
  it: 'sconto|prodotto|cliente|postale|articolo|errore|ordine|banca|fornitore|barre|fiscale|paese|socio|prenotazione|promozionale|porta|cancello|univoco|destinatario|ateco',
  nl: 'klant|artikel|product|post|fout|bestel|bank|land|deur|poort|korting',
  north:
    'kund|kunde|produkt|vare|artikel|post|fejl|feil|fel|bank|land|port|dør|asiakas|tuote|posti|virhe|pankki|maa|ovi',
  ro: 'client|produs|poștal|articol|eroare|comandă|bancă|furnizor|fiscal|de bare|reducere',
  pl: 'klienta|produktu|pocztowy|towaru|artykułu|błędu|zamówienia|banku|dostawcy|kreskowy|rabatowy|kraju|do (?:drzwi|bramy|domofonu)',
  cs: 'zákazníka|produktu|zboží|výrobku|chyby|objednávky|banky|dodavatele|země|poštovní|slevový|bankový|zákaznícky|čárový',
  south: 'kupca|proizvoda|artikla|poštanski|greške|banke|izdelka|stranke|купца|производа|грешке',
  hu: 'vevő|termék|cikk|hiba|bank|ország|posta|irányító|kapu',
  baltic:
    'kliendi|toote|posti|vea|panga|klienta|preces|pasta|kļūdas|bankas|kliento|prekės|pašto|klaidos|banko',
  ru: 'товара|клиента|продукта|ошибки|заказа|банка|поставщика|страны|региона|почтовый|скидки|домофона|двери|обмен[а-я]{0,5}|артикула',
  uk: 'товару|клієнта|продукту|помилки|замовлення|банку|постачальника|країни|поштовий|знижки|домофону',
  bg: 'на (?:продукта|клиента|стоката|грешката|поръчката|банката|артикула)|клиентски|пощенски|продуктов',
  el: 'προϊόντος|πελάτη|σφάλματος|παραγγελίας|τράπεζας|ταχυδρομικός|χώρας|είδους|προμηθευτή',
  tr: 'ürün|müşteri|posta|sipariş|hata|banka|ülke|alan|şube|stok|indirim|kampanya|tedarikçi|kapı|vergi|gider|üye',
  he: 'מוצר|לקוח|מיקוד|שגיאה|הזמנה|בנק|ספק|מדינה|דלת|שער',
  ar: 'المنتج|العميل|البريد|البريدي|الخطأ|الطلب|البنك|المورد|البلد|الدولة|الخصم|محصول|مشتری|پستی|خطا|سفارش|بانک',
  hi: 'उत्पाद|ग्राहक|पिन|त्रुटि|ऑर्डर|बैंक|देश',
  th: 'สินค้า|ลูกค้า|ไปรษณีย์|ข้อผิดพลาด|ธนาคาร|ประเทศ|ส่วนลด',
  vi: 'sản phẩm|khách hàng|bưu (?:điện|chính)|lỗi|đơn hàng|ngân hàng|quốc gia|giảm giá|vùng|hàng|số thuế',
  id: 'barang|produk|pelanggan|pos|kesalahan|pesanan|bank|negara|promo|pemesanan|booking',
  zh: '商品|产品|產品|客户|客戶|邮政|郵政|错误|錯誤|订单|訂單|银行|銀行|国家|國家|供应商|優惠|优惠',
  ja: '商品|顧客|お客様|郵便|エラー|注文|銀行|国|部門|取引先|会員|品目|製品|店舗|支店|割引',
  ko: '상품|고객|우편|제품|오류|주문|은행|국가|거래처|회원|할인|품목|예약',
}

export const otherKindWords = Object.values(otherKinds).join('|')

/** What says around an access code, a passcode or a PIN that it opens a meeting or a door, by its beginning. */
export const placeWords = [
  'meeting id|(?:zoom|teams) meeting|webex|dial-?in|join (?:zoom|the|meeting|by|on|here|:)|conference|webinar|call-?in|bridge|google meet|one tap mobile|gate|door|(?:the|our|my) (?:office|building|flat|alarm)(?! account)|key ?box|lock ?box|key ?safe|garage|entrance|apartment|wi-?fi|parking|locker|elevator|warehouse|check-?in|booked (?:for|from|on)|reservation|itinerary|licen[cs]e|buzzer|intercom|keypad',
  'konferenz|besprechung|einwahl|telefonkonferenz|tür|(?:das|dem|am|zum|fürs|vom|hof-?) ?tor(?![\\p{L}-])|schlüssel|haustür|eingang|wohnung|wlan|réunion|conférence|portail|porte(?!u)|immeuble|digicode|boîte à clés|appartement|reunión|conferencia|puerta|edificio|reunião|porta(?!l)|portão|prédio|riunione|portone|cancello|vergadering|deur|poort|sleutel|møte|møde|dør|dörr|porten|kokous|ovi',
  'spotkani|drzwi|bram|domofon|schůzk|dveř|brán|ajtó|kapu|встреч|совещани|конференц|двер|ворот|калитк|домофон|подъезд|зустріч|двері|toplantı|kapı|πόρτα|σύσκεψη|פגישה|דלת|שער|اجتماع|باب|بوابة|جلسه|मीटिंग|ประตู|ประชุม|cửa|cuộc họp|rapat|pintu|会议|會議|会議|ミーティング|ドア|玄関|门禁|門禁|大门|회의|현관',
].join('|')

/** Words that ask to type in what follows. */
export const enterWords =
  'enter|type in|type|use|quote|gebruik|usa|utiliza|utilice|utilisez|utilise|verwende|verwenden sie|nutze|nutzen sie|använd|brug|bruk|käytä|użyj|użyj kodu|použijte|используйте|ange|indtast|syötä|introduceți|unesite|saisissez|entrez|tapez|introduce|introduzca|ingresa|digite|insira|inserisci|geben sie|gib|voer|wpisz|zadejte|zadajte|введите|введіть|girin|input|with pin|code|koden|le code|el código|o código|il codice|de code|kod|код'

/** Words that say of what follows that it is the code. */
export const sayingWords =
  'is|ist|lautet|lauten|est|est le|es|è|é|este|is:|är|er|on|je|to|є|είναι|yra|ir|este|adalah|là|คือ|है|هو|هي|است|הוא|היא|是|为|為|は|이|은|는|это|е|jest'

/** What numbers of other things are called in other languages than English; each stands before the number. */
export const otherNumberWords =
  'auftrag|auftragsnummer|vorgang|vorgangsnummer|konto|kontonummer|referenz|referenznummer|vertrag|kunden-?nr\\.?|dossier|compte|référence|cuenta|referencia|conta|referência|operación|conto|pratica|riferimento|rekening|dossiernummer|klantnummer|ordre|ärende|zlecenie|zlecenia|konta|smlouva|účet|договор|договора|счет|счёт|счета|рахунок|hesap|işlem|参考号|账号|帳號|口座番号|お問い合わせ番号|계좌번호|접수번호|nomor pesanan|mã đơn hàng|licen[cs]e|bestellung|rechnung|kundennummer|vertragsnummer|bankleitzahl|commande|facture|pedido|factura|fattura|ordine|encomenda|zamówienie|objednávka|заказ|заказа|индекс|номер|замовлення|sipariş|订单号|订单|單號|单号|快递单号|邮编|电话|注文番号|郵便番号|領収書番号|電話|주문번호|우편번호|운송장번호|전화|رقم الطلب|الطلب|הזמנה|código postal|code postal|meeting id|webinar id|conference id|error code|booking'

/** What one does by a link that lets somebody in, by its beginning, in the languages of such mail. */
export const linkWords = [
  'sign(?:ing)?[ -]in|log(?:ging)?[ -]?in(?!g)|magic link|verif(?:y|ication)|confirm|activat|reset|new password|set (?:a|your) password|accept (?:the |this |your |my )?invit|invited you|join (?:the |your )?(?:team|workspace)',
  'anmeld|einlogg|bestätig|aktivier|zurücksetz|passwort|inlog|bevestig|activeer|wachtwoord',
  'logga in|log ind|logg inn|bekräft|bekræft|bekreft|lösenord|adgangskode|passord|kirjaudu|vahvist|staðfest',
  'connexion|connecter|vérifi|réinitialis|mot de passe|iniciar sesión|verific|activ[aeo]|ativar|attiva|restablec|redefin|reimpost|contraseña|senha|acced|conecta|parol',
  'zaloguj|potwierd|aktywuj|hasł|přihlás|prihlás|potvr|ověř|hesl|bejelentkez|megerős|aktivál|jelsz',
  'войти|вход|подтверд|активир|парол|увійти|підтверд|потвърд|σύνδεση|επιβεβαί|ενεργοπ|giriş yap|doğrula|onayla|etkinleştir|şifre',
  '登录|登錄|登入|验证|驗證|确认|確認|激活|重置|ログイン|認証|有効化|パスワード|로그인|인증|확인|활성화|비밀번호',
  "einladung (?:annehmen|akzeptieren)|eingeladen|accepter l['’]invitation|vous a invité|aceptar (?:la )?invitación|te ha invitado|te invitó|aceitar (?:o )?convite|convidou|accetta (?:l['’])?invito|ti ha invitato|uitnodiging accepteren|heeft je uitgenodigd|acceptera inbjudan|accepter invitation|godta invitasjon|hyväksy kutsu|przyjmij zaproszenie|zaakceptuj zaproszenie|přijmout pozvánku|принять приглашение|пригла(?:сил|шает)|прийняти запрошення|daveti kabul|davet etti|接受邀请|接受邀請|邀请您|招待を(?:承認|承諾|受ける)|초대 ?수락|قبول الدعوة|clave nueva|nueva clave|crear (?:una )?contraseña|activation",
  'تسجيل الدخول|تأكيد|تفعيل|كلمة المرور|כניסה|אימות|אישור|סיסמה|đăng nhập|xác nhận|xác minh|masuk|konfirmasi|kata sandi|เข้าสู่ระบบ|ยืนยัน|साइन इन|सत्यापित|पुष्टि',
].join('|')

/** What mail with such a link says of it: that it ends, works once, or was perhaps not asked for. */
export const linkTerms = [
  "expire|valid for|valid until|only be used|used once|works once|one-time|did not|didn['’]t|ignore this|ignore it|\\d ?(?:minutes|hours|hrs|mins)",
  'gültig|läuft|ignorier|geldig|verloopt|giltig|gyldig|voimassa|valable|ignore[zr]|ignora|caduca|válid|valid[oe]|scade',
  'ważn|platn|érvényes|действ|игнор|дійсн|ισχύει|geçerli|有効|時間以内|有效|분 이내|유효|صالح|בתוקף|hiệu lực|berlaku',
].join('|')

/** What one does with such a code, by its beginning. */
export const signInStems =
  'sign|log|verif|confirm|complet|continu|finish|access|authent|proceed|anmeld|einlogg|bestätig|fortzu|connect|valider|inici|entrar|acced|accéd|loggen|bevestig|logga|bekräft|logge|bekræft|bekreft|zalog|potwierd|войти|подтверд|увійти|підтверд'
