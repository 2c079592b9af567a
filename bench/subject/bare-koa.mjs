// The least that a Koa route with better-sqlite3 can do: `node bench/subject/bare-koa.mjs DATABASE INBOX` prints its port.
import Database from 'better-sqlite3'
import Koa from 'koa'

const [path, inboxId] = process.argv.slice(2)
const database = new Database(path, { readonly: true })
// The text twice, as the API tells it: `replyText` is most often the text.
const list =
  database.prepare(`select *, "reading"."bodyText" as "replyText" from "message" join "reading" on "reading"."id" = "message"."readingId"
  where "message"."inboxId" = ? order by "message"."id" desc limit 50`)
const inbox = database.prepare('select * from "inbox" where "id" = ?')

const koa = new Koa()
koa.use(context => {
  context.type = 'application/json'
  context.body = JSON.stringify(
    context.path.endsWith('/messages') ? { data: list.all(inboxId) } : inbox.get(inboxId),
  )
})
const server = koa.listen(0, '127.0.0.1', () => console.log(server.address().port))
