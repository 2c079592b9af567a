/** What begins the subject of an absence notice, by language, in lower case; each is part of a pattern. */
const absences: Readonly<Record<string, string>> = {
  en: '(?:automatic|automated|auto)[- ]?(?:reply|response|answer|responder)|out[- ]of[- ](?:the[- ])?office(?: (?:auto)?[- ]?reply| notification| message)?|ooo|away from (?:the |my )?office|vacation (?:reply|response|notice|message)|i am (?:currently )?out of (?:the )?office',
  de: 'abwesenheitsnotiz|abwesenheits(?:meldung|assistent|nachricht|benachrichtigung)|automatische (?:antwort|abwesenheitsnotiz|rückmeldung)|auto-?antwort|außer haus|nicht im büro',
  fr: "réponse automatique|message d['’]absence|absence du bureau|absente?s? du bureau|notification d['’]absence",
  es: 'respuesta automática|fuera de (?:la )?oficina|mensaje de ausencia|autorespuesta|contestación automática',
  pt: 'resposta automática|fora do escritório|ausência temporária|mensagem de ausência|ausente do escritório',
  it: 'risposta automatica|fuori (?:sede|ufficio)|messaggio di assenza|notifica di assenza',
  nl: 'automatisch antwoord|automatische beantwoording|afwezigheids(?:bericht|melding)|niet aanwezig|buiten kantoor|niet op kantoor',
  da: 'automatisk svar|autosvar|ikke til stede|fraværs(?:besked|meddelelse)|ikke på kontoret',
  nb: 'fraværsmelding|automatisk svarmelding|ikke på kontoret',
  sv: 'automatiskt svar|autosvar|frånvaro(?:meddelande|besked)|inte på kontoret|ej på kontoret',
  fi: 'automaattinen vastaus|automaattivastaus|poissaolo(?:ilmoitus|viesti)|poissa toimistosta',
  is: 'sjálfvirkt svar|ekki á skrifstofunni',
  ca: "resposta automàtica|fora de l['’]oficina|missatge d['’]absència",
  gl: 'fóra da oficina',
  eu: 'erantzun automatikoa|bulegotik kanpo',
  ro: 'răspuns automat|în afara biroului|absent din birou',
  pl: 'automatyczna odpowiedź|odpowiedź automatyczna|autoodpowiedź|poza biurem|nieobecność w biurze|autoresponder',
  cs: 'automatická odpověď|mimo kancelář|nepřítomnost v kanceláři',
  sk: 'automatická odpoveď|mimo kancelárie',
  sl: 'samodejni odgovor|odsoten iz pisarne|odsotnost iz pisarne',
  hr: 'automatski odgovor|izvan ureda|van kancelarije',
  sr: 'аутоматски одговор|ван канцеларије',
  hu: 'automatikus válasz|házon kívül|irodán kívül',
  et: 'automaatvastus|automaatne vastus|kontorist väljas',
  lv: 'automātiskā atbilde|automātiska atbilde|ārpus biroja',
  lt: 'automatinis atsakymas|ne biure',
  ru: 'автоматический ответ|автоответ(?:чик)?|вне офиса|нет на работе|не в офисе|отсутствие на рабочем месте|отсутствую|отсутствует|в отпуске',
  uk: 'автоматична відповідь|автовідповідь|поза офісом|немає в офісі',
  be: 'аўтаматычны адказ',
  bg: 'автоматичен отговор|извън офиса',
  el: 'αυτόματη απάντηση|εκτός γραφείου',
  sq: 'përgjigje automatike|jashtë zyrës',
  eo: 'aŭtomata respondo',
  tr: 'otomatik (?:yanıt|cevap)|ofis dışında(?:yım)?|iş yeri dışında',
  he: 'תשובה אוטומטית|מענה אוטומטי|מחוץ למשרד',
  ar: '(?:ال)?رد (?:ال)?(?:تلقائي|آلي)|خارج المكتب',
  fa: 'پاسخ خودکار|خارج از دفتر',
  hi: 'स्वचालित (?:उत्तर|जवाब)|स्वत: ?उत्तर|कार्यालय से बाहर',
  th: '(?:การ)?ตอบกลับอัตโนมัติ|ไม่อยู่ที่สำนักงาน',
  vi: '(?:thư )?trả lời tự động|vắng mặt tại văn phòng|không có mặt ở văn phòng',
  id: '(?:balasan|jawaban) otomatis|di luar kantor',
  tl: 'awtomatikong (?:tugon|sagot)',
  zh: '自[动動](?:回[复覆復]|答[复覆復])|不在(?:办公室|辦公室)|外出自[动動]回[复覆復]',
  ja: '自動(?:応答|返信|回答)(?:メール)?|不在(?:通知|応答|のお知らせ|のため自動返信)|外出中',
  ko: '자동 ?(?:회신|응답|답장)(?: 메일)?|부재 ?중(?: 알림)?',
}

export const absenceWords = Object.values(absences).join('|')

/** Mailboxes whose mail is not to be answered, by language, without the signs between their words and without accents. */
const noReply: Readonly<Record<string, string>> = {
  en: 'noreply noreplies donotreply dontreply neverreply notreply pleasedonotreply noresponse donotrespond donotanswer noanswer unmonitored unattended',
  de: 'nichtantworten bittenichtantworten keineantwort keineantworten nichtbeantworten antwortenichterwunscht',
  fr: 'nepasrepondre nepasrepondresvp nerepondezpas nerepondrepas pasdereponse sansreponse',
  es: 'noresponder noresponda norespondas nocontestar nocontestes nocontesta norespuesta sinrespuesta',
  pt: 'naoresponder naoresponda naoresponde semresposta',
  it: 'nonrispondere nonrispondete nonrisponda nonrispondi norisposta',
  nl: 'nietbeantwoorden nietantwoorden nietreageren geenantwoord geenreactie beantwoordniet',
  da: 'svarikke ikkesvar ikkesvare besvarikke maikkebesvares ingensvar',
  nb: 'ikkebesvar ikkesvarpadenne',
  sv: 'svaraej svarainte svarej ingetsvar ejsvar besvaraej',
  fi: 'alavastaa eivastausta eivastata alavastaatahan',
  is: 'ekkisvara svaraekki ekkisvar',
  ca: 'norespongueu norespongui norespondre',
  gl: 'nonresponder',
  eu: 'ezerantzun',
  ro: 'nuraspunde nuraspundeti nuraspundetila',
  pl: 'nieodpowiadaj nieodpowiadac bezodpowiedzi prosimynieodpowiadac prosimynieodpowiadaj brakodpowiedzi',
  cs: 'neodpovidat neodpovidejte neodpovidej prosimneodpovidejte',
  sk: 'neodpovedat neodpovedajte neodpovedaj',
  sl: 'neodgovarjaj neodgovarjajte brezodgovora',
  hr: 'neodgovaraj neodgovarajte neodgovarati bezodgovora',
  hu: 'nevalaszolj nevalaszoljon nevalaszoljonra nincsvalasz',
  et: 'aravasta argevastake mittevastata',
  lv: 'neatbildet neatbildiet',
  lt: 'neatsakyti neatsakykite',
  ru: 'неотвечать неотвечайте neotvechat neotvechayte neotvechajte bezotveta nootvet',
  uk: 'невідповідати nevidpovidaty nevidpovidayte nevidpovidajte',
  bg: 'неотговаряйте neotgovaryayte neotgovaryaite neotgovarai',
  el: 'minapantate minapantisete miapantate',
  sq: 'mosupergjigj mospergjigje',
  tr: 'yanitlama yanitlamayin yanitlamayiniz cevaplama cevaplamayin cevaplamayiniz cevapvermeyin yanitvermeyin',
  vi: 'khongtraloi dungtraloi khongphanhoi vuilongkhongtraloi',
  id: 'janganbalas janganmembalas tidakdibalas janganlahbalas mohontidakmembalas',
  zh: 'qingwuhuifu wuhuifu wuxuhuifu buyaohuifu qingbuyaohuifu',
  ja: 'henshinfuyo henshinfuka sousinsenyou soshinsenyo hensinfuyou',
  ko: 'hoesinbulga balsinjeonyong',
  programs:
    'notification notifications notify notifier alert alerts autoconfirm automailer autonotify autoreply autoresponder autoresponse benachrichtigung benachrichtigungen notificacion notificaciones notificacao notificacoes notifica notifiche notificatie notificaties meddelelse powiadomienie powiadomienia oznameni ertesites bildirim uvedomlenie uvedomleniya',
}

export const noReplyNames: ReadonlySet<string> = new Set(Object.values(noReply).join(' ').split(' '))

/** Mailboxes of shops and accounts, by which a program writes more often than a person. They prove nothing alone. */
export const roleNames: ReadonlySet<string> = new Set(
  [
    'order orders billing invoice invoices invoicing receipt receipts payment payments checkout shop store purchase purchases',
    'booking bookings reservation reservations shipping shipment tracking delivery deliveries subscription subscriptions statements',
    'account accounts security login signin auth authentication verify verification verifications otp code codes signup register registration password',
    'bestellung bestellungen rechnung rechnungen versand zahlung buchung konto sicherheit commande commandes facture factures facturation boutique livraison compte securite',
    'pedido pedidos factura facturas facturacion tienda pago pagos cuenta seguridad encomenda encomendas fatura faturas loja pagamento pagamentos conta seguranca ordine ordini fattura fatture fatturazione negozio',
    'bestelling bestellingen factuur facturen betaling ordre ordrer faktura fakturor kvittering kvitto tilaus tilaukset lasku laskut zamowienia zamowienie sklep platnosci objednavky objednavka faktury rendeles szamla comenzi narudzbe',
    'zakaz zakazy oplata zamovlennya siparis fatura odeme pesanan pembayaran donhang chumon juchu',
  ]
    .join(' ')
    .split(' '),
)

/** Under which web servers and what runs in them write. */
export const serverNames: ReadonlySet<string> = new Set(
  'wordpress wwwdata wwwrun apache httpd nginx nobody cron crond drupal joomla magento prestashop jenkins gitlab nagios zabbix icinga grafana monit logwatch fail2ban'.split(
    ' ',
  ),
)

/** Domains, and names below them, of envelopes by which services send for others. */
export const senderHosts: ReadonlySet<string> = new Set(
  [
    'amazonses.com sendgrid.net mailgun.org mailgun.net mandrillapp.com sparkpostmail.com sparkpostmail1.com mtasv.net pm.mtasv.net mailjet.com sendinblue.com brevosend.com',
    'mcsv.net rsgsv.net mcdlv.net klaviyomail.com ccsend.com exacttarget.com salesforce-email.com sailthru.com customeriomail.com hubspotemail.net hs-send.com intercom-mail.com',
    'shopifyemail.com squarespace-mail.com wixemails.com cmail19.com cmail20.com createsend.com emlsend.com getresponse-mail.com activehosted.com acems1.com mailerlite.com mlsend.com',
    'mailchannels.net smtp2go.com smtp.com elasticemail.com netcorecloud.net pepipost.com responsys.net bronto.com emarsys.net optimove.net iterable.com braze.com resend.com postmarkapp.com loops.so',
  ]
    .join(' ')
    .split(' '),
)

/** How a subject begins that tells of an order, a payment or the like, by language, in lower case; each is part of a pattern. */
const receipts: Readonly<Record<string, string>> = {
  en: "(?:your )?(?:payment )?receipt (?:from|for your)\\b|your (?:[\\p{L}\\p{N}.'’&-]+ ){0,3}receipt\\b|receipt (?:no\\.?|number|#) ?\\d|(?:your )?(?:order|payment|booking|shipping|shipment|purchase|reservation|subscription|delivery) (?:(?:no\\.? ?|number |# ?)?[\\w-]*\\d[\\w-]* )?(?:is |was |has been )?(?:confirmation|confirmed|received|shipped|dispatched|delivered|placed|completed|processed)\\b|your\\b.{0,40}\\b(?:order|package|parcel|shipment|booking|payment|purchase)\\b.{0,40}\\b(?:shipped|confirmed|received|dispatched|delivered|on its way|processed)\\b|(?:your )?(?:[\\p{L}\\p{N}.'’&-]+ ){0,3}(?:invoice|statement|bill|payslip|receipt)\\b.{0,40}\\b(?:is |now )?(?:available|ready|attached|due|paid|enclosed)\\b|(?:new )?invoice (?:from|no\\.?|number|#)|thank(?:s| you) for your (?:order|purchase|payment|booking)",
  de: 'bestell(?:bestätigung|eingang)|auftragsbestätigung|(?:zahlungs|buchungs|versand|reservierungs)bestätigung|zahlungseingang|(?:ihre|deine) (?:[\\p{L}\\p{N}.-]+ ){0,2}(?:bestellung|rechnung|buchung|zahlung|quittung|lieferung|sendung|reservierung)|vielen dank für (?:ihre|deine) (?:bestellung|zahlung|buchung)',
  fr: 'confirmation de (?:votre )?(?:commande|paiement|réservation|livraison)|votre (?:[\\p{L}\\p{N}.-]+ ){0,2}(?:commande|facture|reçu|réservation|paiement|colis)|reçu (?:de|pour)|merci pour votre (?:commande|achat|paiement)',
  es: 'confirmación de(?:l| tu| su)? (?:pedido|pago|reserva|compra|envío)|(?:tu|su) (?:pedido|factura|recibo|reserva|pago|compra|envío)|pedido (?:n\\.?º |#)?\\d* ?confirmado|recibo (?:de|por)|gracias por (?:tu|su) (?:pedido|compra|pago)',
  pt: 'confirmação d[oea] (?:seu |sua )?(?:pedido|pagamento|encomenda|reserva|compra)|(?:o )?(?:seu|sua|teu|tua) (?:pedido|fatura|recibo|encomenda|reserva|pagamento|compra)|recibo de|obrigad[oa] (?:pela|pelo) (?:sua|seu) (?:compra|pedido|encomenda)',
  it: "conferma (?:d['’]ordine|dell['’]ordine|ordine|di? pagamento|prenotazione|della prenotazione)|(?:il |la )?(?:tuo|tua|suo|sua) (?:ordine|fattura|ricevuta|prenotazione|pagamento|acquisto)|ricevuta (?:di|per)|grazie per (?:il tuo|la tua|il suo) (?:ordine|acquisto)",
  nl: '(?:bestel|order|betalings|boekings|reserverings)bevestiging|bevestiging van (?:je|uw) (?:bestelling|betaling|boeking)|(?:je|uw) (?:bestelling|factuur|betaling|boeking|bon|pakket)|bedankt voor (?:je|uw) (?:bestelling|aankoop)',
  north:
    '(?:ordre|order|betalings|betalnings|boknings|booking)bekræftelse|ordrebekreftelse|orderbekräftelse|(?:din|ditt|dit) (?:ordre|order|beställning|bestilling|faktura|kvitto|kvittering|betaling|betalning|bokning)|tilausvahvistus|(?:tilauksesi|laskusi|kuittisi)|pöntunarstaðfesting',
  ro: 'confirmare (?:comandă|plată|rezervare)|comanda (?:ta|dvs\\.?|dumneavoastră)|factura (?:ta|dvs\\.?)',
  pl: 'potwierdzenie (?:zamówienia|płatności|rezerwacji|wpłaty)|(?:twoje|twoja|twój) (?:zamówienie|faktura|paragon|rezerwacja)|dziękujemy za (?:zamówienie|zakup)',
  cs: 'potvrzení (?:objednávky|platby|rezervace)|potvrdenie (?:objednávky|platby)|(?:vaše|tvoje) (?:objednávka|faktura|faktúra|rezervace)',
  south:
    'potvrda (?:narudžbe|plaćanja|porudžbine)|vaša (?:narudžba|porudžbina)|potrditev naročila|vaše naročilo|потврда (?:поруџбине|наруџбе)',
  hu: '(?:rendelés|fizetés|foglalás)[\\p{L}]{0,4} (?:vissza)?igazol|rendelés-?visszaigazolás|(?:az ön )?(?:rendelése|számlája)',
  baltic:
    'tellimuse kinnitus|teie tellimus|pasūtījuma apstiprinājums|jūsu pasūtījums|užsakymo patvirtinimas|jūsų užsakymas',
  ru: 'подтверждение (?:заказа|оплаты|бронирования)|(?:ваш|ваша) (?:заказ|счет|счёт|чек|квитанция|бронь)|заказ (?:№ ?)?\\d+ (?:подтвержд|принят|оформлен|отправлен)|(?:чек|квитанция) (?:об|на|от)|спасибо за (?:заказ|покупку)',
  uk: 'підтвердження (?:замовлення|оплати|бронювання)|ваше? (?:замовлення|рахунок|чек)|дякуємо за (?:замовлення|покупку)|потвърждение (?:на|за) (?:поръчка|плащане)|вашата поръчка',
  el: 'επιβεβαίωση (?:παραγγελίας|πληρωμής|κράτησης)|η παραγγελία σας|απόδειξη',
  tr: 'sipariş(?:iniz)? (?:onay|alındı|kargo)|siparişiniz|(?:ödeme|rezervasyon) onay|faturanız',
  he: 'אישור (?:הזמנה|תשלום)|ההזמנה שלך|קבלה (?:על|מ)',
  ar: 'تأكيد (?:الطلب|الدفع|الحجز|طلبك)|طلبك|إيصال|تایید سفارش|سفارش شما',
  hi: 'ऑर्डर की पुष्टि|आपका ऑर्डर|भुगतान की पुष्टि',
  th: 'ยืนยันคำสั่งซื้อ|คำสั่งซื้อของคุณ|ใบเสร็จ',
  vi: 'xác nhận (?:đơn hàng|thanh toán|đặt)|đơn hàng của bạn|hóa đơn',
  id: 'konfirmasi (?:pesanan|pembayaran)|pesanan anda|faktur anda|tanda terima',
  zh: '(?:订单|訂單|付款|支付|预订|預訂)(?:确认|確認|成功)|您的(?:订单|訂單|发票|發票|收据|收據|账单|帳單)',
  ja: '(?:ご)?注文(?:確認|の確認|受付|を承りました|ありがとう|内容)|領収書|ご(?:利用明細|請求)|(?:お支払い|ご予約)(?:完了|の確認|確認)',
  ko: '주문(?: ?(?:확인|완료|접수))|(?:결제|예약) ?(?:확인|완료)|영수증',
}

export const receiptWords = Object.values(receipts).join('|')
