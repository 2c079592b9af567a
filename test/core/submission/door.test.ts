import t from 'tap'
import { createThrottles, failedKeysPerMinute } from '../../../lib/core/account/throttles.ts'
import { createSubmissionDoor } from '../../../lib/core/submission/door.ts'
import { openDoor } from '../../support/smtp-door.ts'

t.test('wrong pairs are bounded for a block of addresses, each of which has few', async t => {
  const { app } = await openDoor(t)
  const door = createSubmissionDoor(app, createThrottles(app))
  const tried = async (remoteAddress: string) => {
    const given = { user: 'ann@ours.example', password: 'mbx_wrong', remoteAddress }
    return door.authenticate(given).catch(reply => reply.code)
  }
  let code = 535
  for (let n = 0; n < 20 * failedKeysPerMinute && code === 535; n++) code = await tried(`192.0.2.${n % 250}`)
  t.equal(code, 421)
  t.equal(await tried('198.51.100.1'), 535, 'of another block')
})
