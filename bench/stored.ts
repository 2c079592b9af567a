import Database from 'better-sqlite3'

const text = 'The figures of the last quarter are attached. '.repeat(20)
const id = (kind: string, n: string) =>
  `printf('0199%04x-%04x-7000-8000-${kind}%011x', ${n} >> 16, ${n} & 65535, ${n})`
const at = (n: string) => `strftime('%Y-%m-%dT%H:%M:%f', 1767225600 + ${n}, 'unixepoch') || 'Z'`
const numbers = `with recursive "numbers" ("n") as (select 0 union all select "n" + 1 from "numbers" where "n" < @last)`

/**
 * Puts messages into inboxes, two in a thread, as rows that SQLite makes itself: without raws, and without the index of the search,
 * which neither a list nor a write reads.
 * @param path the database of an installation whose daemon does not run
 * @param inboxes the inbox that all come into; or how many are made for them
 */
export function storeMessages(path: string, messages: number, inboxes: string | number): void {
  const database = new Database(path)
  database.pragma('synchronous = off')
  database.exec('create temp table "target" ("n" integer primary key, "id" text)')
  if (typeof inboxes === 'string') {
    database.prepare('insert into "target" values (0, ?)').run(inboxes)
  } else {
    database
      .prepare(`${numbers} insert into "target" select "n", ${id('d', '"n"')} from "numbers"`)
      .run({ last: inboxes - 1 })
    database.exec(`insert into "inbox" ("id", "podId", "address", "inboundCount", "outboundCount", "threadCount", "unreadThreadCount", "createdAt")
      select "id", (select "id" from "pod" where "isDefault" = 1), 'stored' || "n" || '@mailboxd.test', 0, 0, 0, 0, ${at('0')} from "target"`)
  }
  const count = typeof inboxes === 'string' ? 1 : inboxes
  const inboxOf = (n: string) => `(select "id" from "target" where "target"."n" = (${n}) % ${count})`
  database
    .prepare(`${numbers} insert into "thread" ("id", "inboxId", "subject", "isRead", "messageCount", "lastMessageAt", "createdAt")
      select ${id('a', '"n"')}, ${inboxOf('"numbers"."n"')}, 'report ' || "n", "n" % 2, 2, ${at('"n" * 2')}, ${at('"n" * 2')} from "numbers"`)
    .run({ last: messages / 2 - 1 })
  database
    .prepare(`${numbers} insert into "reading" ("id", "bodyText", "bodyHtml", "attachments", "extracted", "parseProblems")
      select ${id('c', '"n"')}, @text, '', '[]', '{"replyText":null,"otp":null,"links":[]}', '[]' from "numbers"`)
    .run({ last: messages - 1, text })
  database
    .prepare(`${numbers} insert into "message" ("id", "inboxId", "threadId", "direction", "status", "rfcMessageId", "references",
        "mailFrom", "trace", "fromAddr", "toAddr", "headerTo", "deliveryRole", "cc", "bcc", "subject", "category",
        "autoReplyable", "verdict", "authentication", "createdAt", "readingId")
      select ${id('b', '"n"')}, ${inboxOf('"numbers"."n" / 2')}, ${id('a', '"n" / 2')}, 'inbound', 'received', '<' || "n" || '@example.net>', '[]',
        'bob@example.net', '', 'bob@example.net', 'bench@mailboxd.test', 'bench@mailboxd.test', 'to', '[]', '[]',
        'report ' || "n", 'personal', 1, 'clean', '{"spf":"pass","dkim":"pass","dmarc":"pass"}',
        ${at('"n"')}, ${id('c', '"n"')} from "numbers"`)
    .run({ last: messages - 1 })
  database.exec(`update "inbox" set
      "inboundCount" = (select count(*) from "message" where "inboxId" = "inbox"."id"),
      "threadCount" = (select count(*) from "thread" where "inboxId" = "inbox"."id"),
      "unreadThreadCount" = (select count(*) from "thread" where "inboxId" = "inbox"."id" and "isRead" = 0)
    where "id" in (select "id" from "target")`)
  database.close()
}
