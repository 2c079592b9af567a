import t from 'tap'
import { createKey, revokeAnyKey } from '../../../lib/core/account/keys.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import type { EventSink, StreamEnd } from '../../../lib/core/app/stream.ts'
import { startApi } from '../../support/api-app.ts'
import { takesAll } from '../../support/event-sink.ts'
import { until } from '../../support/until.ts'

/** A connection that takes all that it is told, and says how it was ended. */
function sinkOf(): EventSink & { readonly ends: StreamEnd[] } {
  const ends: StreamEnd[] = []
  return {
    ...takesAll,
    ends,
    end: why => void ends.push(why),
  }
}

t.test('a stream that is ended gives its place back', async t => {
  const { app } = await startApi(t)
  const { id: keyId } = await createKey(app, operator, { account: true }, null)
  const [revoked, kept] = [sinkOf(), sinkOf()]
  app.stream.open({ ...operator, keyId }, revoked)
  const { close } = app.stream.open(operator, kept)
  t.equal(app.stream.count(), 2)
  await revokeAnyKey(app, keyId)
  await until('the end of what the key had open', () => revoked.ends.length > 0)
  t.strictSame([revoked.ends, kept.ends], [['revoked'], []])
  t.equal(app.stream.count(), 1)
  app.stream.stop()
  t.strictSame(kept.ends, ['stopping'])
  t.equal(app.stream.count(), 0)
  close()
  t.equal(app.stream.count(), 0)
  t.throws(() => app.stream.requirePlace(), { code: 'unavailable' })
})
