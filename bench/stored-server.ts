import pg from 'pg'

const text = 'The figures of the last quarter are attached. '.repeat(20)
const hex = (n: string, digits: number) => `lpad(to_hex(${n}), ${digits}, '0')`
const id = (kind: string, n: string) =>
  `'0199' || ${hex(`(${n}) >> 16`, 4)} || '-' || ${hex(`(${n}) & 65535`, 4)} || '-7000-8000-${kind}' || ${hex(n, 11)}`
const at = (n: string) =>
  `to_char(timestamp '2026-01-01' + ${n} * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
const inboxOf = (n: string, count: number) => id('d', `(${n}) % ${count}`)

/**
 * The same as `storeMessages` on PostgreSQL, and findable: rows that the server makes itself, without raws, of which one in a thousand says
 * "marzipan". Nothing works on the database meanwhile.
 */
export async function storeMessagesOnServer(url: string, messages: number, inboxes: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('set session_replication_role = replica')
    await client.query('set synchronous_commit = off')
    await client.query(`set maintenance_work_mem = '256MB'`)
    const { rows: indexes } = await client.query(
      `select indexname, indexdef from pg_indexes where tablename in ('message', 'messageSearch', 'thread') and indexname not like '%_pkey'`,
    )
    for (const { indexname } of indexes) await client.query(`drop index "${indexname}"`)
    await client.query(`insert into "inbox" ("id", "podId", "address", "inboundCount", "outboundCount", "threadCount", "unreadThreadCount", "createdAt")
      select ${id('d', 'n')}, (select "id" from "pod" where "isDefault" = 1), 'stored' || n || '@mailboxd.test',
        ${messages / inboxes}, 0, ${messages / inboxes / 2}, 0, ${at('0')} from generate_series(0, ${inboxes - 1}) n`)
    await client.query(`insert into "thread" ("id", "inboxId", "subject", "isRead", "messageCount", "lastMessageAt", "createdAt")
      select ${id('a', 'n')}, ${inboxOf('n', inboxes)}, 'report ' || n, 1, 2, ${at('n * 2')}, ${at('n * 2')} from generate_series(0, ${messages / 2 - 1}) n`)
    await client.query(
      `insert into "reading" ("id", "bodyText", "bodyHtml", "attachments", "extracted", "parseProblems")
        select ${id('c', 'n')}, $1, '', '[]', '{"replyText":null,"otp":null,"links":[]}', '[]' from generate_series(0, ${messages - 1}) n`,
      [text],
    )
    await client.query(`insert into "message" ("id", "inboxId", "threadId", "direction", "status", "rfcMessageId", "references",
        "mailFrom", "trace", "fromAddr", "toAddr", "headerTo", "deliveryRole", "cc", "bcc", "subject", "category",
        "autoReplyable", "verdict", "authentication", "createdAt", "readingId")
      select ${id('b', 'n')}, ${inboxOf('n / 2', inboxes)}, ${id('a', 'n / 2')}, 'inbound', 'received', '<' || n || '@example.net>', '[]',
        'bob@example.net', '', 'bob@example.net', 'bench@mailboxd.test', 'bench@mailboxd.test', 'to', '[]', '[]',
        'report ' || n, 'personal', 1, 'clean', '{"spf":"pass","dkim":"pass","dmarc":"pass"}', ${at('n')}, ${id('c', 'n')}
      from generate_series(0, ${messages - 1}) n`)
    const mark = (word: string, value: string) => `'=${word}' || replace(${value}, '-', '')`
    await client.query(`insert into "messageSearch" ("messageId", "threadId", "createdAt", "document")
      select ${id('b', 'n')}, ${id('a', 'n / 2')}, ${at('n')},
        array_to_tsvector(array['=all', ${mark('inbox', inboxOf('n / 2', inboxes))},
          ${mark('pod', `(select "id" from "pod" where "isDefault" = 1)`)}, '=categorypersonal', '=directioninbound'])
        || setweight('bob:1 example:2 net:3'::tsvector, 'A') || setweight(('report:1 ' || n || ':2')::tsvector, 'C')
        || setweight(('the:1 figures:2 of:3 last:4 quarter:5 are:6 attached:7' || case when n % 1000 = 0 then ' marzipan:8' else '' end)::tsvector, 'D')
      from generate_series(0, ${messages - 1}) n`)
    for (const { indexdef } of indexes) await client.query(indexdef)
    await client.query('vacuum analyze')
  } finally {
    await client.end()
  }
}
