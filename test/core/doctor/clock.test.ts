import t from 'tap'
import type { App } from '../../../lib/core/app/app.ts'
import { checkClock } from '../../../lib/core/doctor/clock.ts'
import { recordEvent } from '../../../lib/core/events/record.ts'
import { startApi } from '../../support/api-app.ts'

t.test('a clock is judged by what was written, by the system, and by the CA', async t => {
  const { app, api, clock } = await startApi(t)
  // An event, which has its time.
  await api.post('/v1/inboxes', { mailboxName: 'ann' })
  const withCa: App = Object.create(app, {
    config: {
      value: { ...app.config, acme: { ...app.config.acme, directory: 'https://ca.example/directory' } },
    },
  })
  const check = async (asked: App, follows: boolean | undefined, aheadMs?: number) => {
    const found = await checkClock(asked, {
      isSynchronised: async () => follows,
      askDate: async () => (aheadMs === undefined ? undefined : new Date(clock.now().getTime() + aheadMs)),
    })
    return found.map(({ level, code }) => `${level} ${code}`)
  }
  t.strictSame(await check(app, true), [])
  t.strictSame(await check(withCa, undefined, 2_000), [], 'the CA says the same')
  t.strictSame(await check(app, undefined), ['hint not_checked'])
  t.strictSame(await check(withCa, undefined), ['hint not_checked'], 'the CA says nothing')
  t.strictSame(await check(app, false), ['warning clock_not_synchronised'])
  t.strictSame(await check(withCa, true, 600_000), ['error clock_wrong'])
  t.strictSame(await check(withCa, undefined, -600_000), ['error clock_wrong'])
  const past: App = Object.create(app, {
    clock: { value: { ...clock, now: () => new Date(clock.now().getTime() - 3_600_000) } },
  })
  const nobody = { podId: null, inboxId: null, threadId: null, messageId: null }
  await app.store.write(db => recordEvent(app, db, 'domain.verified', nobody, {}))
  t.strictSame(await check(past, true), ['error clock_behind'])
})
