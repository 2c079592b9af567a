/** What codes are called that let somebody in, in the languages that they come in; each is part of a pattern. */
export const codeNames = [
  // English
  '(?:verification|security|log-?in|sign-?in|access|confirmation|authentication|authorization|one[- ]time|single[- ]use|temporary|two-(?:factor|step)(?: verification)?|2fa|mfa|otp|activation|auth|device|guard|recovery|voting|pick-?up|delivery|door|ride)[- ](?:pass-?code|code|pin|password|number)(?!s)',
  '(?:set-?up|registration|sign-?up|pairing|unlock|validation|identity|secret|dynamic|enrol?lment)[- ](?:pass-?code|code|pin)|(?:verification|security|sign-?in|log-?in|confirmation|access) token',
  'otp|pass-?code|your (?:[\\w-]+ )?(?:code|pin)(?= (?:is|for|to)\\b|\\s*[:：])',
  // German, Dutch, the North
  '(?:bestätigungs|sicherheits|verifizierungs|verifikations|anmelde|zugangs|registrierungs|authentifizierungs|einrichtungs|prüf|aktivierungs|einmal|login|freischalt)-?(?:code|kennwort|passwort|pin)|m?tan(?!\\p{L})',
  '(?:verificatie|beveiligings|bevestigings|inlog|toegangs|activatie)code|eenmalige (?:code|pincode)',
  '(?:verifierings|säkerhets|engångs|inloggnings|innloggings|pålognings|aktiverings|adgangs|tilgangs|åtkomst|kirjautumis|bekräftelse|bekræftelses|bekreftelses|sikkerheds|sikkerhets|engangs|vahvistus|kertakäyttö)-?(?:kod|kode|koden|koodi)',
  // the Romance languages
  "code (?:de (?:vérification|sécurité|confirmation|connexion|validation)|d['’](?:accès|authentification|activation|identification)|à usage unique|temporaire|secret)",
  'código (?:de (?:verificación|seguridad|confirmación|acceso|inicio de sesión|un solo uso|activación|verificação|segurança|confirmação|acesso|uso único|ativação)|temporal|temporário)',
  'codice (?:di (?:verifica|sicurezza|conferma|accesso|attivazione)|monouso|temporaneo)|cod(?:ul)? (?:tău |dvs\\. )?de (?:verificare|securitate|confirmare|acces)|codi de (?:verificació|seguretat)',
  // the Slavic languages, and others of Europe
  'kod (?:weryfikacyjny|bezpieczeństwa|potwierdzający|dostępu|jednorazowy|aktywacyjny|logowania)|(?:ověřovací|potvrzovací|overovací) kód|ellenőrző kód',
  'код (?:подтверждения|проверки|безопасности|доступа|для входа|входа|активации|авторизации|підтвердження|для входу|за потвърждение|за достъп)|одноразовый (?:код|пароль)',
  '(?:doğrulama|güvenlik|onay|giriş|erişim) kodu(?:nuz)?|tek kullanımlık (?:şifre|kod)(?:niz|unuz)?|κωδικός (?:επαλήθευσης|ασφαλείας|μίας χρήσης)|patvirtinimo kodas',
  // Asia and the Near East
  '验证码|驗證碼|校验码|动态码|動態碼|安全码|安全碼|确认码|確認碼|动态密码|動態密碼|一次性密码|一次性密碼',
  '認証コード|確認コード|検証コード|セキュリティコード|ワンタイムパスワード|認証番号',
  '인증 ?번호|인증 ?코드|확인 ?코드|보안 ?코드|일회용 ?비밀번호',
  'mã (?:xác minh|xác nhận|xác thực|otp)|kode (?:verifikasi|otp|keamanan)|รหัสยืนยัน|रहस्य कोड|सत्यापन कोड|ओटीपी',
  'رمز (?:التحقق|التأكيد|الدخول|الأمان)|کد (?:تأیید|تایید|ورود)|קוד (?:ה?אימות|ה?כניסה|ה?אבטחה)',
].join('|')

/** Words that mean a code, of whatever kind. */
export const weakStems: readonly string[] =
  'code pin tan otp passcode password passwort código codice codi cod codul kod kód kódja kódod kodu kodunuz kodum kode koden koodi kood koda kodas kods код κωδικός şifre token 验证码 驗證碼 动态码 動態碼 校验码 安全码 安全碼 确认码 確認碼 认证码 認證碼 登录码 密码 密碼 認証番号 確認番号 コード パスワード 번호 코드 비밀번호 mã รหัส कोड ओटीपी رمز کد קוד'.split(
    ' ',
  )

/** Words that ask to type in what follows. */
export const enterWords =
  'enter|type in|type|use|quote|gebruik|usa|utiliza|utilice|utilisez|utilise|verwende|verwenden sie|nutze|nutzen sie|använd|brug|bruk|käytä|użyj|użyj kodu|použijte|используйте|ange|indtast|syötä|introduceți|unesite|saisissez|entrez|tapez|introduce|introduzca|ingresa|digite|insira|inserisci|geben sie|gib|voer|wpisz|zadejte|zadajte|введите|введіть|girin|input|with pin|code|koden|le code|el código|o código|il codice|de code|kod|код'

/** Words that say of what follows that it is the code. */
export const sayingWords =
  'is|ist|lautet|lauten|est|est le|es|è|é|este|is:|är|er|on|je|to|є|είναι|yra|ir|este|adalah|là|คือ|है|هو|هي|است|הוא|היא|是|为|為|は|이|은|는|это|е|jest'

/** What numbers of other things are called in other languages than English; each stands before the number. */
export const otherNumberWords =
  'bestellung|rechnung|kundennummer|vertragsnummer|bankleitzahl|commande|facture|pedido|factura|fattura|ordine|encomenda|zamówienie|objednávka|заказ|заказа|индекс|номер|замовлення|sipariş|订单号|订单|單號|单号|快递单号|邮编|电话|注文番号|郵便番号|領収書番号|電話|주문번호|우편번호|운송장번호|전화|رقم الطلب|الطلب|הזמנה|código postal|code postal|meeting id|webinar id|conference id|error code|booking'

/** What one does by a link that lets somebody in, by its beginning, in the languages of such mail. */
export const linkWords = [
  'sign(?:ing)?[ -]in|log(?:ging)?[ -]?in(?!g)|magic link|verif(?:y|ication)|confirm|activat|reset|new password|set (?:a|your) password',
  'anmeld|einlogg|bestätig|aktivier|zurücksetz|passwort|inlog|bevestig|activeer|wachtwoord',
  'logga in|log ind|logg inn|bekräft|bekræft|bekreft|lösenord|adgangskode|passord|kirjaudu|vahvist|staðfest',
  'connexion|connecter|vérifi|réinitialis|mot de passe|iniciar sesión|verific|activ[ao]|ativar|attiva|restablec|redefin|reimpost|contraseña|senha|acced|conecta|parol',
  'zaloguj|potwierd|aktywuj|hasł|přihlás|prihlás|potvr|ověř|hesl|bejelentkez|megerős|aktivál|jelsz',
  'войти|вход|подтверд|активир|парол|увійти|підтверд|потвърд|σύνδεση|επιβεβαί|ενεργοπ|giriş yap|doğrula|onayla|etkinleştir|şifre',
  '登录|登錄|登入|验证|驗證|确认|確認|激活|重置|ログイン|認証|有効化|パスワード|로그인|인증|확인|활성화|비밀번호',
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
