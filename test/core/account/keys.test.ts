import { join } from 'node:path'
import t from 'tap'
import { createInbox, deleteInbox } from '../../../lib/core/account/inboxes.ts'
import { createKey, findCaller, revokeAnyKey } from '../../../lib/core/account/keys.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { findApiKey, revokeApiKey } from '../../../lib/store/api-keys.ts'
import { openStore } from '../../../lib/store/open.ts'
import { startApi } from '../../support/api-app.ts'
import { until } from '../../support/until.ts'
import { watchedDb } from '../../support/watched-db.ts'

t.test('who holds a key is remembered until anything is committed', async t => {
  const { app, clock } = await startApi(t)
  // Another process, such as mailboxctl.
  const other = await openStore(join(app.config.data_dir, 'mailboxd.sqlite'), clock)
  t.teardown(() => other.close())
  let looked = 0
  const read = watchedDb(app.store.read, {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      looked++
      return result
    },
  })
  const watched: typeof app = Object.create(app, { store: { value: { ...app.store, read } } })
  const used = async (id: string) => (await findApiKey(app.store.read, id))?.lastUsedAt
  const key = async () => {
    const made = await createKey(app, operator, { account: true }, null)
    t.match(await findCaller(watched, made.token), { keyId: made.id, podId: null, inboxId: null })
    await until('its use to be noted', () => used(made.id))
    return made
  }

  const first = await key()
  t.ok(await findCaller(watched, first.token))
  const before = looked
  t.ok(before > 0)
  for (let asked = 0; asked < 5; asked++) t.ok(await findCaller(watched, first.token))
  t.equal(looked, before, 'nothing was committed, and nothing is looked up')
  t.equal(await findCaller(watched, `${first.token}x`), undefined)
  t.equal(await findCaller(watched, first.token.slice(0, -1)), undefined)

  await revokeAnyKey(app, first.id)
  t.equal(await findCaller(watched, first.token), undefined, 'revoked by this process')
  t.equal(await findCaller(watched, first.token), undefined)

  const second = await key()
  t.ok(await findCaller(watched, second.token))
  await other.write(db => revokeApiKey(db, second.id, clock.now().toISOString()))
  t.equal(await findCaller(watched, second.token), undefined, 'revoked by another process')

  const inbox = (await createInbox(app, operator, {})).id
  const ofInbox = await createKey(app, operator, { inbox }, null)
  t.match(await findCaller(watched, ofInbox.token), { inboxId: inbox })
  await deleteInbox(app, operator, inbox)
  t.equal(await findCaller(watched, ofInbox.token), undefined, 'its inbox is gone')

  const third = await key()
  const noted = await used(third.id)
  clock.advance(60_000)
  t.ok(await findCaller(watched, third.token))
  await until('the next use to be noted', async () => (await used(third.id)) !== noted)
})
